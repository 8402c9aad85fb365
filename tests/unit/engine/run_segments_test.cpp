#include "engine/run/run_segments.hpp"

#include <gtest/gtest.h>

#include "support/train_options.hpp"

namespace tandem::app {
namespace {

constexpr char kRepeats[] = "tandem train --config of this file repeats the run";

Json segment(std::uint64_t first_step, const Arguments& words, std::uint64_t world = 2) {
  Options options = testing::options_of(words);
  const TrainRequest request = read_train_options(options);
  return make_segment({request, options, words, {}}, first_step, world, 100);
}

std::string heading(const Json& segments) {
  return describe_repetition(train_option_table(), segments);
}

TEST(RunSegments, HoldTheOptionsOfTheirStart) {
  const Json one = segment(5, {"--epochs", "3", "--run-id", "a", "--resume", "auto"});
  EXPECT_EQ(one.at("first_step"), 5);
  EXPECT_EQ(one.at("world_size"), 2);
  EXPECT_EQ(one.at("schedule_steps"), 100);
  EXPECT_EQ(one.at("command_line"), "tandem train --epochs 3 --run-id a --resume auto");
  EXPECT_EQ(one.at("options").at("epochs"), "3");
  EXPECT_FALSE(one.at("options").contains("resume"));
}

TEST(RunSegments, StartsWithTheSameOptionsAreRepeated) {
  const Json first = segment(0, {"--max-time", "60"});
  EXPECT_EQ(heading(Json::array({first})), kRepeats + std::string("."));
  EXPECT_EQ(heading(Json::array({first, segment(8, {"--keep-checkpoints", "9", "--quiet"})})),
            kRepeats + std::string(", which had 2 starts with these options."));
}

TEST(RunSegments, WhatChangedIsNamed) {
  const std::string text = heading(Json::array(
      {segment(0, {"--epochs", "9"}), segment(5, {"--threads", "2"}, 4), segment(7, {})}));
  EXPECT_EQ(
      text,
      "This file does not repeat the run, which had 3 starts. Between them changed: --epochs, "
      "--threads, the number of ranks.\nThe file holds the options of the last start; "
      "`segments` of manifest.json those of each.");
  const std::string config = to_ini(testing::options_of(), text);
  EXPECT_EQ(config.rfind("# This file", 0), 0U);
  EXPECT_NE(config.find("ranks.\n# The file holds"), std::string::npos);
}

TEST(RunSegments, StartsBeforeTheOptionWereDirect) {
  Json earlier = segment(0, {});
  earlier.at("options").erase("convolution");
  earlier.at("options").erase("powersgd-rank");
  EXPECT_EQ(heading(Json::array({earlier, segment(5, {"--convolution", "direct"})})),
            kRepeats + std::string(", which had 2 starts with these options."));
  EXPECT_NE(heading(Json::array({earlier, segment(5, {})})).find("changed: --convolution."),
            std::string::npos);
}

// It was killed before its first checkpoint, or resumed from an older checkpoint.
TEST(RunSegments, AStartWithoutStepsInTheRunDoesNotCount) {
  EXPECT_EQ(heading(Json::array({segment(0, {"--epochs", "9"}), segment(0, {})})),
            kRepeats + std::string("."));
  EXPECT_EQ(heading(Json::array({segment(0, {}), segment(9, {"--epochs", "9"}), segment(4, {})})),
            kRepeats + std::string(", which had 2 starts with these options."));
}

TEST(RunSegments, OfAnEarlierVersionNothingIsClaimed) {
  const Json old{{"started", 1.5}, {"first_step", 0}, {"world_size", 2}};
  for (const Json& first : {old, Json{{"first_step", 0}, {"options", 3}}}) {
    EXPECT_NE(heading(Json::array({first, segment(4, {})})).find("may not repeat the run"),
              std::string::npos);
  }
  EXPECT_EQ(heading(Json::array({3, Json(nullptr), segment(4, {})})), kRepeats + std::string("."));
}

TEST(RunSegments, StartsFromOneStepAreCounted) {
  const auto from = [](const std::vector<int>& steps) {
    Json segments = Json::array();
    for (const int step : steps) segments.push_back({{"first_step", step}});
    return segments;
  };
  EXPECT_EQ(starts_from(from({0, 5, 5, 5}), 5), 3U);
  EXPECT_EQ(starts_from(from({0, 5, 5, 5}), 9), 0U) << "a checkpoint was saved since";
  EXPECT_EQ(starts_from(from({5, 5, 9, 5}), 5), 1U) << "not one after another";
  EXPECT_EQ(starts_from(from({0}), 0), 1U);
  EXPECT_EQ(starts_from(Json(nullptr), 0), 0U);
  EXPECT_EQ(starts_from(Json::array({3, Json(nullptr)}), 0), 0U) << "of another program";
}

}  // namespace
}  // namespace tandem::app
