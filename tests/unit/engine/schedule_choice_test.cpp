#include "engine/run/schedule_choice.hpp"

#include <gtest/gtest.h>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

// A linear schedule from 1 to 0 over 100 steps of 10 epochs, of which 50 are done.
class ScheduleChoiceTest : public ::testing::Test {
 protected:
  ScheduleChoiceTest() {
    config_.schedule.name = "linear";
    config_.learning_rate = 1;
    start_.resumes = true;
    start_.run_id = "a";
    start_.state.step = 50;
    start_.schedule_steps = 100;
    start_.folder = metrics::RunFolder::create(folder_ / "runs", "a");
  }

  ScheduleChoice choose(double epochs, bool is_new = false) {
    config_.epochs = epochs;
    config_.global_batch_size = 4;
    const auto arithmetic = train::BatchArithmetic::of(config_, kImages, 1);
    return choose_schedule(start_, {config_, arithmetic, kImages, is_new, "GO ON", "BEGIN"});
  }
  void expect(const ScheduleChoice& choice, std::uint64_t steps, const std::string& note) {
    EXPECT_EQ(choice.steps, steps);
    EXPECT_EQ(choice.note, note);
  }

  static constexpr std::uint64_t kImages = 40;
  const testing::TempDir folder_;
  train::TrainConfig config_;
  RunStart start_;
};

TEST_F(ScheduleChoiceTest, NothingIsSaidOfTheSameDuration) {
  expect(choose(10), 100, "");
  expect(choose(10, true), 100, "");
}

TEST_F(ScheduleChoiceTest, AShorterRunKeepsIt) {
  expect(choose(8), 100,
         "the schedule keeps its length of 100 steps, and the run ends at step 80: learning rate "
         "0.51 before, 0.5 after (with --new-schedule: 0.375)");
}

TEST_F(ScheduleChoiceTest, ANewOneReplacesItOnRequest) {
  expect(choose(20, true), 200,
         "a new schedule of 200 steps replaces that of 100 steps: learning rate 0.51 before, 0.75 "
         "after");
}

TEST_F(ScheduleChoiceTest, ARunIsNotProlongedAtALearningRateOf0) {
  try {
    choose(20);
    FAIL() << "it was not refused";
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "a: the schedule linear ends at step 100, where its learning rate is 0, and 200 "
        "steps are asked for\n  fix: go on with a new schedule (learning rate 0.51 before, "
        "0.75 after): GO ON --new-schedule\n  or begin another run with these weights: "
        "BEGIN");
  }
  start_.state.step = 100;  // it was complete
  EXPECT_THROW(choose(20), UsageError);
}

TEST_F(ScheduleChoiceTest, ALastRateAbove0Holds) {
  config_.schedule.warmup_epochs = 20;
  expect(
      choose(12), 100,
      "the schedule keeps its length of 100 steps, and the run ends at step 120: learning rate "
      "0.25 before, 0.255 after (with --new-schedule: 0.255); its last rate, 0.5, holds from its "
      "end on");
}

TEST_F(ScheduleChoiceTest, SchedulesWithoutALengthHaveNothingToKeep) {
  for (const char* name : {"constant", "step"}) {
    config_.schedule.name = name;
    expect(choose(20), 100, "");
    expect(choose(5), 100, "");
  }
}

TEST_F(ScheduleChoiceTest, ARunThatHasDoneMoreThanIsAskedForHasNothingToKeep) {
  expect(choose(4), 100, "");
  expect(choose(5), 100, "");
}

// Of an earlier version: its length comes from the options of the last start.
TEST_F(ScheduleChoiceTest, CheckpointsWithoutALengthHaveThatOfTheirConfig) {
  start_.schedule_steps.reset();
  expect(choose(8), 80, "");  // no record of the length
  start_.folder->write_manifest({{"run_id", "a"}});
  start_.folder->write_config("epochs = 10\nmax-steps = 0\n");
  EXPECT_EQ(choose(8).steps, 100U);
  start_.folder->write_config("epochs = 10\nmax-steps = 60\n");
  expect(choose(6), 60, "");
  EXPECT_THROW(choose(8), UsageError);
  start_.folder->write_config("epochs = ten\nmax-steps = 60\n");
  expect(choose(8), 80, "");
}

}  // namespace
}  // namespace tandem::app
