#include "progress_line.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <regex>

namespace tandem::metrics {
namespace {

ProgressView view_of_two_ranks() {
  StepRecord record;
  record.loss = 1.5;
  record.accuracy = 0.4321;
  record.images_per_second = 12345.6;
  record.ranks.resize(2);
  for (RankRecord& rank : record.ranks) rank.step_seconds = 0.1;
  record.ranks[1].compute_seconds = 0.021;
  ProgressView view;
  view.step = 250;
  view.total_steps = 1000;
  view.epoch = 2.5;
  view.total_epochs = 10;
  view.latest = record;
  view.seconds_left = 62;
  return view;
}

TEST(FitProgress, SaysAllWhereThereIsRoom) {
  EXPECT_EQ(fit_progress(view_of_two_ranks(), 200),
            "epoch 3/10 [############------------]   50 %  loss 1.5000  accuracy 0.4321  "
            "12,346 images/s  1:02 left  slowest rank 1 +21.0 ms");
}

TEST(FitProgress, ShortensTheBarThenTheWordsThenLeavesOut) {
  const ProgressView view = view_of_two_ranks();
  EXPECT_EQ(fit_progress(view, 119),
            "epoch 3/10 [########--------]   50 %  loss 1.5000  accuracy 0.4321  12,346 images/s  "
            "1:02 left  slowest rank 1 +21.0 ms");
  EXPECT_EQ(fit_progress(view, 100),
            "3/10 [############------------]   50 %  loss 1.5000  acc 0.4321  12,346/s  1:02 left  "
            "r1 +21.0 ms");
  EXPECT_EQ(fit_progress(view, 79),
            "3/10 [###---]   50 %  loss 1.5000  acc 0.4321  12,346/s  1:02 left  r1 +21.0 ms");
  EXPECT_EQ(fit_progress(view, 78),
            "3/10 [#########---------]   50 %  loss 1.5000  acc 0.4321  12,346/s  1:02 left");
  EXPECT_EQ(fit_progress(view, 39), "3/10   50 %  loss 1.5000  1:02 left");
  EXPECT_EQ(fit_progress(view, 17), "3/10  loss 1.5000");
  EXPECT_EQ(fit_progress(view, 5), "3/10");
  EXPECT_EQ(fit_progress(view, 2), "3/");
}

TEST(FitProgress, FitsEveryWidthAndGrowsWithIt) {
  ProgressView view = view_of_two_ranks();
  view.activity = "evaluation";
  std::size_t before = 0;
  for (std::size_t width = 1; width < 160; ++width) {
    const std::string line = fit_progress(view, width);
    EXPECT_LE(line.size(), width);
    EXPECT_GE(line.size() + 12, before) << line;
    before = line.size();
  }
}

TEST(FitProgress, ColorsTakeNoColumnAndAreTakenBack) {
  const ProgressView view = view_of_two_ranks();
  for (const std::size_t width : {40U, 80U, 120U, 200U}) {
    const std::string painted = fit_progress(view, width, true);
    const std::regex attribute("\x1b\\[[0-9;]*m");
    EXPECT_EQ(std::regex_replace(painted, attribute, ""), fit_progress(view, width));
    const std::size_t last = painted.rfind('\x1b');
    EXPECT_TRUE(last == std::string::npos || painted.substr(last, 4) == "\x1b[0m") << painted;
  }
  EXPECT_NE(fit_progress(view, 200, true).find("\x1b[33mslowest rank 1"), std::string::npos);
}

TEST(FitProgress, WarnsOnlyOfARankThatCostsMuch) {
  ProgressView view = view_of_two_ranks();
  view.latest->ranks[1].compute_seconds = 0.001;
  EXPECT_EQ(fit_progress(view, 200, true).find("\x1b[33m"), std::string::npos);
}

TEST(FitProgress, HasWhatIsKnownBeforeTheFirstRecordAndAtTheEnds) {
  ProgressView view;
  view.total_epochs = 0.5;
  EXPECT_EQ(fit_progress(view, 39), "epoch 1/1 [--------------------]    0 %");
  view = view_of_two_ranks();
  view.latest->ranks.clear();
  view.latest->loss = std::numeric_limits<double>::quiet_NaN();
  view.epoch = 10;
  view.activity = "evaluation";
  EXPECT_EQ(fit_progress(view, 120),
            "epoch 10/10 [########################]  100 %  loss not finite  accuracy 0.4321  "
            "12,346 images/s  1:02 left  evaluation");
}

TEST(ProgressInLog, HasTheStepAndNoBar) {
  EXPECT_EQ(progress_in_log(view_of_two_ranks()),
            "epoch 3/10   50 %  step 250/1000  loss 1.5000  accuracy 0.4321  12,346 images/s  "
            "1:02 left  slowest rank 1 +21.0 ms");
}

TEST(RankText, TellsWhereTheTimeGoes) {
  RankRecord rank;
  rank.images = 64;
  rank.loss = 1.25;
  rank.images_per_second = 1234;
  rank.step_seconds = 0.052;
  rank.data_seconds = 0.001;
  rank.compute_seconds = 0.0405;
  rank.exchange_seconds = 0.0102;
  EXPECT_EQ(rank_text(rank),
            "  loss 1.2500  1,234 images/s  52.0 ms/step: data 1.0, compute 40.5, exchange 10.2");
  rank.images = 0;
  EXPECT_EQ(rank_text(rank).substr(0, 12), "  no image  ");
}

}  // namespace
}  // namespace tandem::metrics
