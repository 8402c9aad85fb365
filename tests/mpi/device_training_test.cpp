// That the parts for GPUs, here on the CPU, train as those for CPUs do.
#include <gtest/gtest.h>

#include "support/mpi_test.hpp"
#include "train_on.hpp"

namespace tandem::train {
namespace {

void expect_like_the_host(const TrainConfig& config, std::size_t images = 1001) {
  auto world = comm::MpiCommunicator::world();
  const Images set(images);
  const Outcome device = train_on(world, config, set, {0, false, Form::kDevice});
  const Outcome host = train_on(world, config, set);
  EXPECT_TRUE(device.ranks_equal_at_every_step);
  EXPECT_EQ(device.result.images_seen, host.result.images_seen);
  expect_same_curve(device, host);
  if (world.rank() != 0) return;
  const double expected = host.result.train_loss.value();
  EXPECT_NEAR(device.result.train_loss.value(), expected, 1e-4 * expected);
}

TEST(DeviceForm, FollowsTheLossCurveOfTheHostFor50Steps) { expect_like_the_host(base_config()); }

TEST(DeviceForm, ClipsSmoothsAndAccumulatesAsTheHostDoes) {
  TrainConfig config = base_config();
  config.clip_norm = 0.5;
  config.label_smoothing = 0.1;
  config.accumulate = 2;
  config.optimizer.name = "adamw";
  config.learning_rate = 1e-3;
  config.max_steps = 20;
  expect_like_the_host(config);
}

TEST(DeviceForm, CountsAShortLastBatchAndRanksWithoutImages) {
  TrainConfig config = base_config();
  config.global_batch_size = 10;
  config.max_steps = 0;
  config.epochs = 3;
  config.bucket_mb = 0.01;
  expect_like_the_host(config, 21);
}

TEST(DeviceForm, AnUpdateThatIsNotFiniteIsRefusedOrLeftOut) {
  auto world = comm::MpiCommunicator::world();
  TrainConfig config = base_config();
  config.learning_rate = 1e8;  // the second step's logits overflow
  config.max_steps = 6;
  const Images set(100);
  expect_nonfinite_refused(world, config, set, Form::kDevice);
  const Outcome device = train_on(world, config, set, {0, true, Form::kDevice});
  const Outcome host = train_on(world, config, set, {0, true});
  EXPECT_EQ(device.result.steps, 6U);
  EXPECT_EQ(device.result.skipped_steps, host.result.skipped_steps);
  EXPECT_GT(device.result.skipped_steps, 0U);
  for (const torch::Tensor& parameter : device.parameters) {
    EXPECT_TRUE(parameter.isfinite().all().item<bool>());
  }
}

TEST(DeviceForm, TwoRunsGiveTheSameWeights) {
  auto world = comm::MpiCommunicator::world();
  TrainConfig config = base_config();
  config.max_steps = 8;
  const Images set(300);
  EXPECT_EQ(train_on(world, config, set, {0, false, Form::kDevice}).weights,
            train_on(world, config, set, {0, false, Form::kDevice}).weights);
}

}  // namespace
}  // namespace tandem::train
