#include "tandem/metrics/console.hpp"

#include <gtest/gtest.h>

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
  record.total_steps = 20;
  record.loss = 1.5;
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

void run_an_epoch(ConsoleSink& sink) {
  sink.on_step(step_of_two_ranks());
  EpochRecord epoch;
  epoch.step = 10;
  epoch.epoch = 1;
  epoch.images = 160;
  epoch.loss = 1.25;
  epoch.accuracy = 0.5;
  epoch.train_seconds = 2;
  epoch.ranks.resize(2);
  sink.on_epoch(epoch);
  sink.on_evaluation({10, 1, "test", 1.75, 0.25, 5, 20, 0.5});
}

const std::string kEpochLine =
    "epoch 1/2  step 10  loss 1.2500  accuracy 0.5000  80 images/s  160 images exactly once\n";
const std::string kEvalLine =
    "eval 20/20 exactly once  test loss 1.7500  test accuracy 0.2500  (5 correct, 0.5 s)\n";

TEST(Console, PrintsPlainLinesAtTheEndOfAnEpoch) {
  for (const ProgressStyle progress : {ProgressStyle::kNone, ProgressStyle::kLines}) {
    EXPECT_EQ(written_by(settings_of(progress), run_an_epoch), kEpochLine + kEvalLine);
  }
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
                                                    kEpochLine + kEvalLine);
}

TEST(Console, DrawsTheLiveLineAnewAndClearsItInTheEnd) {
  share_terminal(true, true);
  ConsoleSettings settings = settings_of(ProgressStyle::kLive);
  settings.log_ranks = {0};  // so that a step is drawn at once
  const std::string text =
      written_by(settings, [](ConsoleSink& sink) { sink.on_step(step_of_two_ranks()); });
  share_terminal(false, false);
  EXPECT_EQ(text.rfind("\r\x1b[K[r0/2 n1 gpu0] step 3  loss", 0), 0U) << text;
  EXPECT_NE(text.find("\n\r1/2   30 %  loss 1.5000  0:00 left\x1b[K"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.size() - 4), "\r\x1b[K");
}

}  // namespace
}  // namespace tandem::metrics
