// The form for GPUs, on the CPU, against the numbers that it must come to.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/model/registry.hpp"
#include "tandem/train/step_backend.hpp"

namespace tandem::train {
namespace {

class DeviceStepBackendTest : public ::testing::Test {
 protected:
  // A step whose gradient is `gradient` everywhere, on a batch of 4 images of which 3 are right.
  void step(StepBackend& backend, std::uint64_t number, double gradient, double loss = 2) {
    const TensorBatch batch{{number, 0, 4, {7, 8, 9, 10}}, {}, torch::tensor({0, 1, 2, 0})};
    const auto logits = torch::eye(3).index_select(0, torch::tensor({0, 1, 2, 1}));
    backend.grad_output(4);
    arena_.flat_gradients().fill_(gradient);
    backend.count(batch, torch::tensor(static_cast<float>(loss)), logits);
    backend.update(number, 0.5);
  }
  float first_weight() const { return arena_.flat_values()[0].item<float>(); }

  model::NetworkPtr network_ = model::make_network("mlp", {1, 28, 28}, 10);
  ParameterArena arena_{*network_, true};
  std::unique_ptr<Optimizer> optimizer_ =
      make_device_optimizer({"sgd", 0}, arena_.values().size(), torch::kCPU);
  std::unique_ptr<StepBackend> form(model::Precision precision, double clip = 0,
                                    LossScale scale = {}) {
    return make_device_step_backend(arena_, *optimizer_, clip, precision, scale);
  }
};

TEST_F(DeviceStepBackendTest, AddsUpStepsUntilTheyAreCollected) {
  const auto backend = form(model::Precision::kFp32);
  step(*backend, 0, 0.25);
  step(*backend, 1, 0.25, 5);
  const StepOutcome outcome = backend->drain();
  EXPECT_EQ(outcome.sums.loss, 7);
  EXPECT_EQ(outcome.sums.correct, 6);
  EXPECT_EQ(outcome.sums.images, 8);
  EXPECT_EQ(outcome.sums.counted_images, 8);
  EXPECT_EQ(outcome.last.loss, 5);
  EXPECT_EQ(outcome.last.correct, 3);
  EXPECT_EQ(outcome.last.images, 4);
  EXPECT_EQ(outcome.skipped, 0U);
  EXPECT_TRUE(outcome.healthy);
  EXPECT_EQ(backend->drain().sums.images, 0);
}

TEST_F(DeviceStepBackendTest, LeavesOutAnUpdateThatIsNotFiniteAndSaysWhich) {
  const auto backend = form(model::Precision::kFp32);
  const float before = first_weight();
  step(*backend, 4, 0.25);
  const float after = first_weight();
  EXPECT_EQ(after, before - 0.125F);
  step(*backend, 5, INFINITY, NAN);
  step(*backend, 6, NAN);
  EXPECT_EQ(first_weight(), after);
  step(*backend, 7, 0.25);
  EXPECT_EQ(first_weight(), after - 0.125F);
  const StepOutcome outcome = backend->drain();
  EXPECT_EQ(outcome.skipped, 2U);
  EXPECT_EQ(outcome.first_skipped, 5U);
  EXPECT_FALSE(outcome.finite_loss);
  EXPECT_FALSE(outcome.healthy);
  EXPECT_EQ(outcome.sums.loss, 4);
  EXPECT_EQ(outcome.sums.images, 16);
  EXPECT_EQ(outcome.sums.counted_images, 8);
}

TEST_F(DeviceStepBackendTest, LimitsTheGradientToTheNorm) {
  const double count = static_cast<double>(arena_.flat_gradients().numel());
  const auto backend = form(model::Precision::kFp32, 1);
  const float before = first_weight();
  step(*backend, 0, 3);
  EXPECT_NEAR(before - first_weight(), 0.5 / std::sqrt(count), 1e-6);
  const float limited = first_weight();
  step(*backend, 1, 1e-6);  // far below it
  EXPECT_NEAR(limited - first_weight(), 0.5e-6, 1e-8);
  EXPECT_NEAR(backend->drain().gradient_norm.value_or(-1), 1e-6 * std::sqrt(count), 1e-8);
  step(*backend, 2, INFINITY);
  EXPECT_FALSE(backend->drain().gradient_norm) << "an update that was left out has no norm";
}

TEST_F(DeviceStepBackendTest, HalvesTheLossScaleWhereItOverflowsAndDoublesItAfter2000GoodSteps) {
  const auto backend = form(model::Precision::kFp16, 0, {1024, 1998});
  EXPECT_EQ(backend->grad_output(4).item<float>(), 256);
  const float before = first_weight();
  step(*backend, 0, 1024);  // 1 without the scale
  EXPECT_EQ(first_weight(), before - 0.5F);
  EXPECT_EQ(backend->loss_scale().scale, 1024);
  EXPECT_EQ(backend->loss_scale().good_steps, 1999);
  step(*backend, 1, 0);
  EXPECT_EQ(backend->loss_scale().scale, 2048);
  EXPECT_EQ(backend->loss_scale().good_steps, 0);
  step(*backend, 2, INFINITY);
  EXPECT_EQ(backend->loss_scale().scale, 1024);
  const StepOutcome outcome = backend->drain();
  EXPECT_EQ(outcome.skipped, 1U);
  EXPECT_TRUE(outcome.healthy) << "an overflow is how the scale is found";
  for (std::uint64_t i = 0; i < 11; ++i) step(*backend, 3 + i, INFINITY);
  EXPECT_FALSE(backend->drain().healthy) << "at a scale below 1 it is no overflow of fp16";
}

TEST(FirstLossScale, IsSmallerWhereTheGradientIsThatOfASum) {
  EXPECT_EQ(first_loss_scale(1).scale, 65536);
  EXPECT_EQ(first_loss_scale(2000).scale, 32);
  EXPECT_EQ(first_loss_scale(2048).scale, 32);
  EXPECT_EQ(first_loss_scale(1'000'000).scale, 1);
}

TEST_F(DeviceStepBackendTest, AScaleIsUsedInFp16Alone) {
  const auto backend = form(model::Precision::kBf16, 0, {1024, 5});
  EXPECT_EQ(backend->grad_output(4).item<float>(), 0.25F);
  EXPECT_EQ(backend->loss_scale().scale, 0);
}

}  // namespace
}  // namespace tandem::train
