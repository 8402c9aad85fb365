#include "cli/option_traits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "support/train_options.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

std::string names_where(bool (*holds)(const OptionSpec& spec)) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : train_option_table()) {
    if (holds(spec)) names.push_back(spec.name);
  }
  return join(names, " ");
}

// A new option of train needs a decision about each trait.
TEST(OptionTraits, EveryOptionOfTrainIsClassified) {
  for (const OptionSpec& spec : train_option_table()) {
    EXPECT_TRUE(spec.traits.are_complete())
        << "--" << spec.name << " names no traits in its row; see option_traits.hpp";
  }
}

TEST(OptionTraits, NoTwoOptionsShareAName) {
  std::set<std::string> seen;
  for (const OptionSpec& spec : train_option_table()) {
    for (const std::string& name : names_of(spec)) EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

TEST(OptionTraits, ConditionsNameValuesOfOptions) {
  const OptionTable table = train_option_table();
  for (const OptionSpec& spec : table) {
    if (spec.used_with.option.empty()) continue;
    const OptionSpec* other = find_option(table, spec.used_with.option);
    ASSERT_NE(other, nullptr) << "--" << spec.name;
    for (const std::string& value : spec.used_with.values) {
      EXPECT_EQ(std::count(other->choices.begin(), other->choices.end(), value), 1)
          << "--" << spec.name << ": " << value;
    }
  }
}

TEST(OptionTraits, ARowWithoutThemIsNotClassified) {
  const OptionSpec spec{"new", "N", "1", "help", "optimizer"};
  EXPECT_FALSE(spec.traits.are_complete());
  EXPECT_FALSE((OptionTraits{OnResume::kFixed}).are_complete());
  EXPECT_TRUE(kOfResult.are_complete());
}

TEST(OptionTraits, OptionsOfPictureFilesHaveNoEffectOnPixels) {
  EXPECT_EQ(names_where([](const OptionSpec& spec) {
              return spec.traits.on_resume == OnResume::kFixedForPictures;
            }),
            "decode eval-crop read-lanes shuffle-mb");
}

TEST(OptionTraits, ConfigIniLeavesOutWhatBelongsToOneStart) {
  EXPECT_EQ(names_where([](const OptionSpec& spec) {
              return spec.traits.config_file == ConfigFile::kLeftOut;
            }),
            "recipe config resume new-schedule max-stuck-starts run-id print-config plan hosts "
            "ranks-per-host link");
}

TEST(OptionTraits, HyperParametersAreThoseOfTraining) {
  EXPECT_EQ(names_where([](const OptionSpec& spec) {
              const bool is_of_reports = spec.group == "safekeeping" || spec.group == "reporting";
              return !is_of_reports && spec.traits.hyper_parameter == HyperParameter::kLeftOut;
            }),
            "data recipe config batch-size global-batch-size cache-mb stage gpu-ids share-gpu "
            "init-timeout "
            "share-weights");
  EXPECT_EQ(names_where([](const OptionSpec& spec) {
              const bool is_of_reports = spec.group == "safekeeping" || spec.group == "reporting";
              return is_of_reports && spec.traits.hyper_parameter == HyperParameter::kListed;
            }),
            "");
}

TEST(OptionTraits, DeterministicRefusesEachValueThatGivesOtherBits) {
  EXPECT_EQ(names_where([](const OptionSpec& spec) { return !spec.other_bits.value.empty(); }),
            "bucket-mb all-reduce grad-dtype");
  for (const OptionSpec& spec : train_option_table()) {
    const std::string& value = spec.other_bits.value;
    if (value.empty()) continue;
    EXPECT_FALSE(spec.other_bits.reason.empty()) << spec.name;
    EXPECT_NE(value, spec.default_value) << spec.name;
    Options options = testing::options_of({"--deterministic", "--" + spec.name, value});
    EXPECT_THROW(read_train_options(options), UsageError) << spec.name;
  }
}

}  // namespace
}  // namespace tandem::app
