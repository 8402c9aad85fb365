#include "commands/time_to_accuracy.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem::app {
namespace {

using tandem::testing::TempDir;

// Student's distribution with 4 degrees of freedom: 97.5 % lie below 2.776445 (NIST/SEMATECH
// e-Handbook, 1.3.6.7.2).
TEST(TimeToAccuracy, TheIntervalOfAMeanIsStudents) {
  const MeanInterval interval = mean_interval({1, 2, 3, 4, 5});
  const double half = 2.776445 * std::sqrt(2.5 / 5);
  EXPECT_DOUBLE_EQ(interval.mean, 3);
  EXPECT_NEAR(interval.least.value(), 3 - half, 1e-6);
  EXPECT_NEAR(interval.most.value(), 3 + half, 1e-6);
}

TEST(TimeToAccuracy, OneRunSaysNothingOfOthers) {
  EXPECT_EQ(mean_interval({0.25}).mean, 0.25);
  EXPECT_FALSE(mean_interval({0.25}).least);
  EXPECT_EQ(to_text({0.25}, 2), "0.25");
  EXPECT_EQ(to_text({}, 2), "-");
  EXPECT_TRUE(to_json({}).is_null());
  EXPECT_TRUE(to_json({0.25}).at("least").is_null());
}

// The 95 % quantile of Student's t with 4 degrees of freedom is 2.131847 (NIST/SEMATECH e-Handbook,
// 1.3.6.7.2).
TEST(TimeToAccuracy, AMeanIsTestedAgainstATargetOnOneSide) {
  const std::vector<double> sample = {1, 2, 3, 4, 5};
  EXPECT_NEAR(p_above(sample, 3 - 2.131847 * std::sqrt(0.5)).value(), 0.05, 1e-6);
  EXPECT_NEAR(p_above(sample, 3 + 2.131847 * std::sqrt(0.5)).value(), 0.95, 1e-6);
  EXPECT_DOUBLE_EQ(p_above(sample, 3).value(), 0.5);
  EXPECT_EQ(p_above({0.9, 0.9}, 0.8).value(), 0) << "no spread, above";
  EXPECT_EQ(p_above({0.9, 0.9}, 0.9).value(), 1) << "no spread, not above";
  EXPECT_FALSE(p_above({0.9}, 0.8)) << "one run has no spread";
}

class RunTimes : public ::testing::Test {
 protected:
  metrics::RunRecord record(const std::string& metrics, const std::string& reason = "completed") {
    write_file_atomically(folder_ / "metrics.jsonl", metrics);
    metrics::RunRecord run;
    run.path = folder_.path();
    run.run_id = "a";
    run.summary = {{"exit_reason", reason}, {"train_seconds", 9.5}};
    return run;
  }

  TempDir folder_;
};

constexpr char kThreeEpochs[] =
    R"({"event":"step","step":1,"loss":2.0}
{"event":"epoch","step":2,"train_seconds":3.0}
{"event":"eval","step":2,"test_accuracy":0.5}
{"event":"epoch","step":4,"train_seconds":2.5}
{"event":"eval","step":4,"test_accuracy":0.8}
{"event":"epoch","step":6,"train_seconds":4.0}
{"event":"eval","step":6,"test_accuracy":0.7,"test_accuracy_tta":0.9}
)";

TEST_F(RunTimes, CountStepsBeforeTheFirstEvaluationThatReachesTheTarget) {
  const metrics::RunRecord run = record(kThreeEpochs);
  EXPECT_DOUBLE_EQ(time_run(run, 7, 0.5).seconds_to_target.value(), 3.0);
  EXPECT_DOUBLE_EQ(time_run(run, 7, 0.75).seconds_to_target.value(), 5.5);
  EXPECT_DOUBLE_EQ(time_run(run, 7, 0.85).seconds_to_target.value(), 9.5) << "of several views";
  EXPECT_FALSE(time_run(run, 7, 0.95).seconds_to_target);
  const TimedRun timed = time_run(run, 7, 0.95);
  EXPECT_EQ(timed.seed, 7U);
  EXPECT_EQ(timed.accuracy, 0.7);
  EXPECT_EQ(timed.accuracy_tta.value(), 0.9);
  EXPECT_EQ(timed.train_seconds, 9.5);
}

TEST_F(RunTimes, OfAMultiLabelSetAreUpToAMeanAveragePrecision) {
  const metrics::RunRecord run = record(R"({"event":"epoch","step":2,"train_seconds":3.0}
{"event":"eval","step":2,"test_map":0.6}
)");
  EXPECT_EQ(time_run(run, 1, 0.5).accuracy, 0.6);
  EXPECT_DOUBLE_EQ(time_run(run, 1, 0.5).seconds_to_target.value(), 3.0);
}

TEST_F(RunTimes, AreThoseOfACompletedRun) {
  EXPECT_THROW(time_run(record(kThreeEpochs, "stopped"), 1, 0.5), DataError);
}

}  // namespace
}  // namespace tandem::app
