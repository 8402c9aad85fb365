#include "tandem/train/class_weights.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

constexpr data::ImageShape kOnePixel{1, 1, 1};

class ClassWeightsTest : public ::testing::Test {
 protected:
  data::ImagesView view() const {
    return {kOnePixel, {pixels_.data(), pixels_.size()}, {labels_.data(), labels_.size()}};
  }
  std::vector<double> weights() const { return weights_of_classes(config_, view(), 4); }

  // Of four classes the last one has no images.
  std::vector<data::Label> labels_{0, 0, 0, 0, 0, 0, 1, 1, 1, 2};
  std::vector<std::uint8_t> pixels_ = std::vector<std::uint8_t>(labels_.size());
  TrainConfig config_;
};

TEST_F(ClassWeightsTest, BalancedOnesMakeTheClassesEqual) {
  config_.has_balanced_classes = true;
  const std::vector<double> found = weights();
  EXPECT_DOUBLE_EQ(found[0] * 6, 10.0 / 3);
  EXPECT_DOUBLE_EQ(found[1] * 3, 10.0 / 3);
  EXPECT_DOUBLE_EQ(found[2] * 1, 10.0 / 3);
}

TEST_F(ClassWeightsTest, GivenOnesKeepTheirRatiosAndHaveAMeanOf1) {
  config_.class_weights = {1, 2, 8, 5};
  const std::vector<double> found = weights();
  EXPECT_DOUBLE_EQ(found[0] * 6 + found[1] * 3 + found[2], 10);
  EXPECT_DOUBLE_EQ(found[1], 2 * found[0]);
  EXPECT_DOUBLE_EQ(found[2], 8 * found[0]);
  EXPECT_DOUBLE_EQ(found[3], 5 * found[0]);
}

TEST_F(ClassWeightsTest, AnotherNumberThanThatOfTheClassesIsRefused) {
  config_.class_weights = {1, 2, 8};
  try {
    weights();
    FAIL() << "three weights were taken for four classes";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--class-weights: 3 weights for 4 classes; give one weight for each class, in "
                 "their order, or balanced");
  }
}

TEST_F(ClassWeightsTest, OfAMultiLabelSetTheyWeighPositiveTargets) {
  // Class 0 has 8 of 10 images, class 1 two, class 2 none, class 3 all.
  std::vector<std::uint8_t> targets;
  for (int i = 0; i < 10; ++i) {
    for (const bool has_class : {i < 8, i < 2, false, true}) targets.push_back(has_class ? 1 : 0);
  }
  data::ImagesView images = view();
  images.targets = targets;
  config_.has_balanced_classes = true;
  EXPECT_EQ(positive_weights_of(config_, images, 4), (std::vector<float>{0.25F, 4, 1, 1}));
  config_.has_balanced_classes = false;
  config_.class_weights = {1, 2, 8, 0.5};
  EXPECT_EQ(positive_weights_of(config_, images, 4), (std::vector<float>{1, 2, 8, 0.5F}));
  EXPECT_THROW(positive_weights_of(config_, images, 5), UsageError);
}

TEST_F(ClassWeightsTest, TheSumIsOverTheWholeGlobalBatchOfTheStep) {
  config_.class_weights = {1, 2, 8, 5};
  config_.global_batch_size = 4;
  config_.accumulate = 2;
  const BatchArithmetic arithmetic = BatchArithmetic::of(config_, labels_.size(), 2);
  const data::TrainingPlan plan = training_plan(config_, arithmetic, labels_.size());
  const std::vector<double> by_class = weights();
  std::map<std::uint64_t, double> expected;
  for (const int rank : {0, 1}) {
    data::TrainingSampler sampler(plan, rank, 2);
    for (auto request = sampler.next(); request && request->step < 7; request = sampler.next()) {
      for (const std::uint32_t image : request->images) {
        expected[request->step] += static_cast<float>(by_class[labels_[image]]);
      }
    }
  }
  ClassWeights found(by_class, view(), plan, torch::kCPU);
  for (const std::uint64_t step : {0U, 1U, 2U, 3U, 6U, 5U, 5U}) {
    EXPECT_NEAR(found.sum_of(step), expected.at(step), 1e-9) << step;
  }
  EXPECT_EQ(found.by_class().numel(), 4);
}

}  // namespace
}  // namespace tandem::train
