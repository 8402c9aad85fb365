#include "cli/option_hints.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "cli/train_options.hpp"
#include "tandem/core/file.hpp"

namespace tandem::app {
namespace {

// Those in the left column of a page's tables: "--gpu-idx", and "nnode" of `nnode = 2`.
std::set<std::string> names_of_others(const std::string& page) {
  const std::regex name("--([a-z][a-z0-9_-]+)|`([a-z_]+) = ");
  std::set<std::string> names;
  std::istringstream lines(read_file(page));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0 || line.rfind("| [", 0) == 0) continue;
    const std::string left = line.substr(0, line.find(" | "));
    for (std::sregex_iterator found(left.begin(), left.end(), name), end; found != end; ++found) {
      names.insert((*found)[1].matched ? (*found)[1] : (*found)[2]);
    }
  }
  return names;
}

TEST(OptionHints, EachNameOfThePagesForNewcomersIsAnswered) {
  std::set<std::string> names = names_of_others(TANDEM_ROOT "/docs/coming-from.md");
  names.merge(names_of_others(TANDEM_ROOT "/README.md"));
  EXPECT_GE(names.size(), 50U);
  const OptionTable table = train_option_table();
  for (const std::string& given : names) {
    for (const auto& [from, to] : {std::make_pair('-', '_'), std::make_pair('_', '-')}) {
      std::string name = given;
      std::replace(name.begin(), name.end(), from, to);
      std::string ours = given;
      std::replace(ours.begin(), ours.end(), '_', '-');
      const CommandLine line = parse_command_line("train", table, {"--" + name, "1"}, false);
      if (find_option(table, ours) != nullptr) continue;
      ASSERT_EQ(line.faults.size(), 1U) << name;
      EXPECT_TRUE(std::regex_search(line.faults.front().text,
                                    std::regex("is not an option(: |; here it is --)")))
          << line.faults.front().text;
    }
  }
}

TEST(OptionHints, OfTwoMeaningsTheOneThatTheCommandHasIsMeant) {
  const OptionTable emit{{"hosts", "LIST", "", "", ""}, {"ranks-per-node", "N", "", "", ""}};
  EXPECT_EQ(unknown_option("host", emit).text, "--host is not an option; here it is --hosts");
  OptionTable train = emit;
  train.push_back({"plan", "", "false", "", ""});
  EXPECT_NE(unknown_option("host", train).text.find("MPI connects the ranks"), std::string::npos)
      << "--hosts of a plan";
  EXPECT_EQ(unknown_option("host", {}).text,
            "--host is not an option: MPI connects the ranks; no address is needed");
}

TEST(OptionHints, NoOptionOfAnotherCommandIsNamed) {
  EXPECT_EQ(unknown_option("workers", {{"threads", "N", "", "", ""}}).text,
            "--workers is not an option");
  EXPECT_NE(unknown_option("workers", {{"loader-threads", "N", "", "", ""}}).text.find("adds more"),
            std::string::npos);
  EXPECT_NE(unknown_option("tee", {}).text.find("mpirun --output-filename"), std::string::npos);
}

TEST(OptionHints, AFaultNamesTheOptionThatHasNoValue) {
  const std::vector<std::pair<const char*, const char*>> meant{{"learning-rate", "lr"},
                                                               {"amp", "precision"},
                                                               {"disable-tqdm", ""},
                                                               {"trainer.epochs", "epochs"},
                                                               {"drop", "drop-last"},
                                                               {"data-dir", "data"},
                                                               {"workers", "loader-threads"},
                                                               {"rank", ""},
                                                               {"no-data", "data"},
                                                               {"no-epochs", "epochs"},
                                                               {"dta", "data"},
                                                               {"no-nestorov", ""},
                                                               {"qqqqqq", ""}};
  for (const auto& [given, option] : meant) {
    const Fault fault = unknown_option(given, train_option_table());
    EXPECT_EQ(fault.without_value, option) << fault.text;
  }
  EXPECT_EQ(unexpected_word("-data=x", false, train_option_table()).without_value, "data");
  EXPECT_EQ(unexpected_word("-no-quiet", false, train_option_table()).without_value, "");
}

TEST(OptionHints, AllValuesOfAnUnknownOptionAreItsOwn) {
  const OptionTable table{{"json", "", "false", "", ""}};
  const std::vector<std::string> words{"--lr_steps", "30", "60", "90", "--json", "x"};
  const CommandLine line = parse_command_line("train", table, words, false);
  ASSERT_EQ(line.faults.size(), 2U);
  EXPECT_NE(line.faults[1].text.find("'x' was not expected"), std::string::npos)
      << line.faults[1].text;
  // Where files may follow, no more than one word can be its value.
  const CommandLine files = parse_command_line("predict", table, {"--top", "3", "a.png"}, true);
  EXPECT_EQ(files.positional, std::vector<std::string>{"a.png"});
}

}  // namespace
}  // namespace tandem::app
