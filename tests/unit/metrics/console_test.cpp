#include "tandem/metrics/console.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tandem/core/print.hpp"

namespace tandem::metrics {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

ConsoleSettings settings_of(ProgressStyle progress) {
  ConsoleSettings settings;
  settings.progress = progress;
  settings.total_epochs = 2;
  settings.total_steps = 20;
  settings.steps_per_epoch = 10;
  settings.hosts = {"n1", "n2"};
  settings.devices = {"gpu0", "cpu"};
  settings.position = [] { return Position{3, ""}; };
  settings.columns = [] { return std::size_t{40}; };
  return settings;
}

StepRecord step_of_two_ranks() {
  StepRecord record;
  record.step = 3;
  record.loss = 1.5;
  record.accuracy = 0.25;
  record.ranks.resize(2);
  record.ranks[0].images = record.ranks[1].images = 8;
  return record;
}

// What a run writes to standard output; nothing else may go to standard error.
template <typename Act>
std::string written_by(ConsoleSettings settings, const Act& act) {
  CaptureStdout();
  CaptureStderr();
  {
    ConsoleSink sink(std::move(settings));
    act(sink);
  }
  EXPECT_EQ(GetCapturedStderr(), "");
  return GetCapturedStdout();
}

EpochRecord epoch_of_two_ranks() {
  EpochRecord epoch;
  epoch.step = 10;
  epoch.epoch = 1;
  epoch.images = 160;
  epoch.loss = 1.25;
  epoch.accuracy = 0.5;
  epoch.train_seconds = 2;
  epoch.ranks.resize(2);
  return epoch;
}

EvaluationRecord evaluation_with(double accuracy) {
  EvaluationRecord record{10, 1, "test", 1.75, accuracy, 5, 20, 0.5};
  record.correct = static_cast<std::uint64_t>(20 * accuracy);
  return record;
}

void run_an_epoch(ConsoleSink& sink) {
  sink.on_step(step_of_two_ranks());
  EpochRecord epoch = epoch_of_two_ranks();
  epoch.is_evaluated = true;
  sink.on_epoch(epoch);
  sink.on_evaluation(evaluation_with(0.25));
}

const std::string kEpochLine =
    "epoch 1/2  loss 1.250  acc 0.500 | test 0.250 | 80 images/s  2.0 s\n";

TEST(Console, PrintsOnePlainLineForAnEpochAndItsEvaluation) {
  for (const ProgressStyle progress : {ProgressStyle::kNone, ProgressStyle::kLines}) {
    EXPECT_EQ(written_by(settings_of(progress), run_an_epoch), kEpochLine);
  }
}

TEST(Console, PrintsAnEpochAtOnceIfNoEvaluationFollows) {
  const std::string text = written_by(settings_of(ProgressStyle::kNone), [](ConsoleSink& sink) {
    sink.on_epoch(epoch_of_two_ranks());
    sink.on_evaluation(evaluation_with(0.25));  // of a run that resumes at its end
  });
  EXPECT_EQ(text,
            "epoch 1/2  loss 1.250  acc 0.500 | 80 images/s  2.0 s\n"
            "test 0.250  loss 1.750  5 of 20 correct  0.5 s\n");
}

TEST(Console, PrintsTheEpochOfARunThatStopsBeforeItsEvaluation) {
  const std::string text = written_by(settings_of(ProgressStyle::kNone), [](ConsoleSink& sink) {
    EpochRecord epoch = epoch_of_two_ranks();
    epoch.is_evaluated = true;
    sink.on_epoch(epoch);
  });
  EXPECT_EQ(text, "epoch 1/2  loss 1.250  acc 0.500 | 80 images/s  2.0 s\n");
}

TEST(Console, MarksTheBestEvaluationOfAllStarts) {
  BestEvaluation best{"test", 0.2, 1};
  ConsoleSettings settings = settings_of(ProgressStyle::kNone);
  settings.best = &best;
  const std::string text = written_by(std::move(settings), [](ConsoleSink& sink) {
    for (const double accuracy : {0.15, 0.25, 0.25}) sink.on_evaluation(evaluation_with(accuracy));
  });
  EXPECT_EQ(text,
            "test 0.150  loss 1.750  3 of 20 correct  0.5 s\n"
            "test 0.250 *best  loss 1.750  5 of 20 correct  0.5 s\n"
            "test 0.250  loss 1.750  5 of 20 correct  0.5 s\n");
  EXPECT_EQ(best.accuracy, 0.25);
}

TEST(BestEvaluation, IsOfTheImagesThatAreEvaluatedFirst) {
  BestEvaluation best;
  EvaluationRecord record = evaluation_with(0.25);
  record.of = "validation";
  EXPECT_TRUE(best.take(record));
  EXPECT_FALSE(best.take(evaluation_with(0.9)));
  EXPECT_EQ(best.of, "validation");
}

TEST(RunningMean, IsOfAllValuesAndThenOfTheLatest) {
  RunningMean mean;
  for (const double value : {1.0, 2.0, 6.0}) mean.add(value);
  EXPECT_DOUBLE_EQ(mean.value(), 3);
  for (int i = 0; i < 100; ++i) mean.add(5);
  EXPECT_NEAR(mean.value(), 5, 0.01);
  mean.add(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(std::isnan(mean.value()));
  mean.add(2);
  EXPECT_DOUBLE_EQ(mean.value(), 2);
}

TEST(Console, NamesARankThatIsSlowInTwoEpochs) {
  const std::string text = written_by(settings_of(ProgressStyle::kNone), [](ConsoleSink& sink) {
    EpochRecord epoch = epoch_of_two_ranks();
    epoch.ranks[0].step_seconds = epoch.ranks[1].step_seconds = 0.1;
    epoch.ranks[1].compute_seconds = 0.021;
    sink.on_epoch(epoch);
    sink.on_epoch(epoch);
  });
  const std::string line = "epoch 1/2  loss 1.250  acc 0.500 | 80 images/s  2.0 s\n";
  EXPECT_EQ(text, line + line + "slowest rank 1 (n2): +21 ms/step in compute\n");
}

TEST(Console, IsQuietOnRequest) {
  ConsoleSettings settings = settings_of(ProgressStyle::kQuiet);
  settings.log_ranks = {0, 1};
  EXPECT_EQ(written_by(settings, run_an_epoch), "");
}

TEST(Console, PrintsTheLinesOfRanksThatAreAskedFor) {
  ConsoleSettings settings = settings_of(ProgressStyle::kNone);
  settings.log_ranks = {1};
  const std::string words = "0 images/s  0.0 ms/step: data 0.0, compute 0.0, exchange 0.0\n";
  EXPECT_EQ(written_by(settings, run_an_epoch), "[r1/2 n2 cpu] step 3  loss 0.0000  " + words +
                                                    "[r1/2 n2 cpu] epoch 1/2  no image  " + words +
                                                    kEpochLine);
}

TEST(Console, DrawsTheLiveLineAnewAndClearsItInTheEnd) {
  share_terminal(true, true);
  ConsoleSettings settings = settings_of(ProgressStyle::kLive);
  settings.log_ranks = {0};  // so that a step is drawn at once
  const std::string text =
      written_by(settings, [](ConsoleSink& sink) { sink.on_step(step_of_two_ranks()); });
  share_terminal(false, false);
  EXPECT_EQ(text.rfind("\r\x1b[K[r0/2 n1 gpu0] step 3  loss", 0), 0U) << text;
  EXPECT_NE(text.find("\n\repoch 1/2   30 %  loss 1.500  0:00 left\x1b[K"), std::string::npos)
      << text;
  EXPECT_EQ(text.substr(text.size() - 4), "\r\x1b[K");
}

}  // namespace
}  // namespace tandem::metrics
