#include "progress_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <regex>

namespace tandem::metrics {
namespace {

ProgressView view_of_two_ranks() {
  StepRecord record;
  record.loss = 1.5;
  record.accuracy = 0.4321;
  record.images_per_second = 12345.6;
  ProgressView view;
  view.step = 2500;
  view.total_steps = 10'000;
  view.epoch = 2.5;
  view.total_epochs = 10;
  view.latest = record;
  view.seconds_left = 62;
  view.slowest = Straggler{1, 0.021, 0.2, false};
  return view;
}

ProgressView view_of_an_evaluation() {
  ProgressView view = view_of_two_ranks();
  view.evaluated = 3200;
  view.to_evaluate = 10'000;
  return view;
}

TEST(FitProgress, SaysAllWhereThereIsRoom) {
  EXPECT_EQ(fit_progress(view_of_two_ranks(), 200),
            "epoch 3/10 [############------------]   50 %  loss 1.500  acc 0.432  "
            "12,346 images/s  1:02 left  slow rank 1 +21.0 ms");
}

TEST(FitProgress, ShortensTheBarThenTheWordsThenLeavesOut) {
  const ProgressView view = view_of_two_ranks();
  EXPECT_EQ(fit_progress(view, 105),
            "epoch 3/10 [######------]   50 %  loss 1.500  acc 0.432  12,346 images/s  1:02 left  "
            "slow rank 1 +21.0 ms");
  EXPECT_EQ(fit_progress(view, 100),
            "3/10 [############------------]   50 %  loss 1.500  acc 0.432  12,346/s  1:02 left  "
            "slow r1 +21.0 ms");
  EXPECT_EQ(fit_progress(view, 84),
            "3/10 [####----]   50 %  loss 1.500  acc 0.432  12,346/s  1:02 left  slow r1 +21.0 ms");
  EXPECT_EQ(fit_progress(view, 79),
            "epoch 3/10 [####----]   50 %  loss 1.500  acc 0.432  12,346 images/s  1:02 left");
  EXPECT_EQ(fit_progress(view, 39), "3/10   50 %  loss 1.500  1:02 left");
  EXPECT_EQ(fit_progress(view, 17), "3/10  loss 1.500");
  EXPECT_EQ(fit_progress(view, 5), "3/10");
  EXPECT_EQ(fit_progress(view, 2), "3/");
}

TEST(FitProgress, TheBarKeepsItsWidthWhenANumberGrows) {
  ProgressView view = view_of_two_ranks();
  view.slowest.reset();
  const auto bar = [&] {
    const std::string line = fit_progress(view, 79);
    return line.find(']') - line.find('[');
  };
  const auto before = bar();
  view.latest->images_per_second = 2345;
  EXPECT_EQ(bar(), before);
}

TEST(FitProgress, FitsEveryWidthAndGrowsWithIt) {
  for (ProgressView view : {view_of_two_ranks(), view_of_an_evaluation()}) {
    std::size_t before = 0;
    for (std::size_t width = 1; width < 160; ++width) {
      const std::string line = fit_progress(view, width);
      EXPECT_LE(line.size(), width);
      EXPECT_GE(line.size() + 24, before) << line;
      before = line.size();
    }
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
  EXPECT_NE(fit_progress(view, 200, true).find("\x1b[33mslow rank 1"), std::string::npos);
}

TEST(FitProgress, HasWhatIsKnownBeforeTheFirstRecordAndAtTheEnds) {
  ProgressView view;
  view.total_epochs = 0.5;
  EXPECT_EQ(fit_progress(view, 39), "epoch 1/1 [--------------------]    0 %");
  view = view_of_two_ranks();
  view.latest->loss = std::numeric_limits<double>::quiet_NaN();
  view.epoch = 10;
  view.slowest.reset();
  view.activity = "checkpoint";
  EXPECT_EQ(fit_progress(view, 120),
            "epoch 10/10 [########################]  100 %  loss not finite  acc 0.432  "
            "12,346 images/s  checkpoint  1:02 left");
}

TEST(FitProgress, IsWholeAtTheEndOfAPartOfAnEpoch) {
  ProgressView view;
  view.total_epochs = 1.3;
  view.epoch = 1.15;
  EXPECT_EQ(fit_progress(view, 39), "epoch 2/2 [##########----------]   50 %");
  view.epoch = 1.3;
  EXPECT_EQ(fit_progress(view, 39), "epoch 2/2 [####################]  100 %");
}

TEST(FitProgress, CountsTheImagesOfAnEvaluation) {
  const ProgressView view = view_of_an_evaluation();
  EXPECT_EQ(fit_progress(view, 79),
            "epoch 3/10 [######--------------]   32 %  evaluating 3,200 of 10,000  1:02 left");
  EXPECT_EQ(fit_progress(view, 40), "3/10   32 %  evaluating 3,200  1:02 left");
  EXPECT_EQ(progress_in_log(view), "epoch 3/10   32 %  evaluating 3,200 of 10,000  1:02 left");
}

TEST(ProgressInLog, HasTheStepAndNoBar) {
  ProgressView view = view_of_two_ranks();
  EXPECT_EQ(progress_in_log(view),
            "3/10  step 2,500/10,000  loss 1.500  acc 0.432  12,346/s  1:02 left  slow r1 "
            "+21.0 ms");
  view.slowest.reset();
  EXPECT_EQ(progress_in_log(view),
            "epoch 3/10  step 2,500/10,000  loss 1.500  acc 0.432  12,346 images/s  1:02 left");
}

EpochRecord third_epoch() {
  EpochRecord record;
  record.epoch = 3;
  record.images = 50'000;
  record.loss = 1.57;
  record.accuracy = 0.518;
  record.train_seconds = 10.578;
  return record;
}

TEST(EpochLine, HasMeansTheEvaluationSpeedAndTime) {
  const EpochRecord record = third_epoch();
  const EvaluationRecord test{1173, 3, "test", 1.278, 0.559, 5590, 10'000, 1.6};
  EXPECT_EQ(epoch_line({record, 10, 50'000, &test, true}),
            "epoch 3/10  loss 1.570  acc 0.518 | test 0.559 *best | 4,727 images/s  11 s");
  EXPECT_EQ(epoch_line({record, 10, 50'000}),
            "epoch 3/10  loss 1.570  acc 0.518 | 4,727 images/s  11 s");
}

TEST(EpochLine, SaysHowManyImagesAPartOfAnEpochHas) {
  EpochRecord record = third_epoch();
  record.images = 128;
  record.epoch = 0.00256;
  EXPECT_EQ(epoch_line({record, 0.00256, 50'000}),
            "epoch 1/1  loss 1.570  acc 0.518 | 128 of 50,000 images  11 s");
}

TEST(EpochLine, Fits80ColumnsAlsoWithLongNumbers) {
  EpochRecord record = third_epoch();
  record.epoch = 100;
  record.loss = 4.38e21;
  record.images = 14'000'000;
  record.train_seconds = 13'000;
  EvaluationRecord test{1173, 3, "test", 1.278, 0.559, 5590, 10'000, 1.6};
  EXPECT_EQ(epoch_line({record, 100, 0, &test, true}),
            "epoch 100/100  loss 4.4e+21  acc 0.518 | test 0.559 *best | 1,077/s  3:36:40");
  test.of = "validation";
  EXPECT_LE(epoch_line({third_epoch(), 10, 0, &test, true}).size(), 80U);
  test.views_accuracy = 0.565;
  EXPECT_EQ(evaluation_line(test, false),
            "validation 0.559, tta 0.565  loss 1.278  5,590 of 10,000 correct  1.6 s");
}

TEST(SecondsText, HasAsManyDigitsAsMatter) {
  EXPECT_EQ(seconds_text(0.04), "0.0 s");
  EXPECT_EQ(seconds_text(9.94), "9.9 s");
  EXPECT_EQ(seconds_text(9.96), "10 s");
  EXPECT_EQ(seconds_text(119.4), "119 s");
  EXPECT_EQ(seconds_text(125), "2:05");
}

TEST(LossText, HasDigitsThatMatter) {
  EXPECT_EQ(loss_text(2.3026), "2.303");
  EXPECT_EQ(loss_text(0.01234), "0.0123");
  EXPECT_EQ(loss_text(0), "0.0000");
  EXPECT_EQ(loss_text(4379582315581734387712.0), "4.4e+21");
  EXPECT_EQ(loss_text(0.00001234), "1.2e-05");
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
            "  loss 1.250  1,234 images/s  52.0 ms/step: data 1.0, compute 40.5, exchange 10.2");
  rank.images = 0;
  EXPECT_EQ(rank_text(rank).substr(0, 12), "  no image  ");
}

}  // namespace
}  // namespace tandem::metrics
