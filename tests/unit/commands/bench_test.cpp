#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "commands/bench_form.hpp"
#include "commands/commands.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

TEST(Bench, ReadsSizesAsNcclTestsDo) {
  EXPECT_EQ(parse_size("4", "x"), 4U);
  EXPECT_EQ(parse_size("4096", "x"), 4096U);
  EXPECT_EQ(parse_size("1K", "x"), 1024U);
  EXPECT_EQ(parse_size("32M", "x"), std::size_t{32} << 20);
  EXPECT_EQ(parse_size("3G", "x"), std::size_t{3} << 30);
  for (const char* text : {"", "3", "K", "1KB", "1.5M", "-4", "1k", "0K", "5G", "4097M"}) {
    EXPECT_THROW(parse_size(text, "--max-bytes"), UsageError) << text;
  }
}

TEST(Bench, EveryOptionIsTheSameInAllFormsThatHaveIt) {
  const OptionTable all = bench_command().options;
  std::set<std::string> found;
  for (const BenchForm& form : bench_forms()) {
    ASSERT_NE(form.run, nullptr) << form.name;
    for (const OptionSpec& spec : form.options) {
      found.insert(spec.name);
      const auto same = std::find_if(
          all.begin(), all.end(), [&](const OptionSpec& other) { return other.name == spec.name; });
      ASSERT_NE(same, all.end()) << spec.name;
      EXPECT_EQ(same->default_value, spec.default_value) << form.name << " " << spec.name;
      EXPECT_EQ(same->help, spec.help) << form.name << " " << spec.name;
      EXPECT_EQ(same->group, spec.group) << form.name << " " << spec.name;
    }
  }
  EXPECT_EQ(found.size(), all.size()) << "an option stands there twice";
}

TEST(Bench, OptionsOfAGroupStandTogether) {
  std::set<std::string> done;
  std::string group;
  for (const OptionSpec& spec : bench_command().options) {
    if (spec.group == group) continue;
    group = spec.group;
    EXPECT_TRUE(done.insert(group).second) << group;
  }
}

}  // namespace
}  // namespace tandem::app
