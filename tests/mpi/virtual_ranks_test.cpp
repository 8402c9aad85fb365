// That with virtual ranks no bit depends on how many real ones there are.
#include <gtest/gtest.h>

#include "support/mpi_test.hpp"
#include "train_on.hpp"

namespace tandem::train {
namespace {

TrainConfig config_of(const char* model, std::uint64_t images_per_step) {
  TrainConfig config = base_config();
  config.model = model;
  config.virtual_ranks = 4;
  config.global_batch_size = images_per_step;
  config.max_steps = 12;
  config.optimizer.nesterov = true;
  return config;
}

// This job's ranks against one rank alone.
void expect_same_bits(const TrainConfig& config, std::size_t images) {
  auto world = comm::MpiCommunicator::world();
  auto self = comm::MpiCommunicator::self();
  const Images set(images);
  const Outcome together = train_on(world, config, set);
  const Outcome alone = train_on(self, config, set);
  EXPECT_EQ(together.weights, alone.weights);
  EXPECT_TRUE(together.ranks_equal_at_every_step);
  if (world.rank() == 0) {
    ASSERT_FALSE(alone.losses.empty());
    EXPECT_EQ(together.losses, alone.losses);
  }
}

TEST(VirtualRanks, GiveTheSameBitsAtAnyNumberOfRanks) {
  expect_same_bits(config_of("lenet", 24), 1001);
}

// 21 images in batches of 10: the last has one image, and three of the four shards have none.
TEST(VirtualRanks, AlsoWhereShardsAreUnevenOrEmpty) {
  TrainConfig config = config_of("lenet", 10);
  config.max_steps = 0;
  config.epochs = 3;
  expect_same_bits(config, 21);
}

// BatchNorm's buffers are part of the digest, and change by shard 0 alone.
TEST(VirtualRanks, AlsoWithBatchNorm) {
  TrainConfig config = config_of("resnet9", 16);
  config.max_steps = 2;
  expect_same_bits(config, 40);
}

// The last batch has one image, and so the weight of one class.
TEST(VirtualRanks, AlsoWithClassWeights) {
  TrainConfig config = config_of("lenet", 10);
  config.max_steps = 0;
  config.epochs = 3;
  config.has_balanced_classes = true;
  expect_same_bits(config, 21);
}

TEST(VirtualRanks, AlsoWithTrustRatios) {
  TrainConfig config = config_of("lenet", 24);
  config.optimizer.name = "lars";
  config.optimizer.weight_decay = 1e-3;
  config.learning_rate = 2;
  expect_same_bits(config, 100);
}

// Their averages are the model's.
TEST(VirtualRanks, AlsoOfMovingAverages) {
  TrainConfig config = config_of("batch-norm.pt", 24);
  config.channels_last = false;
  config.ema = 0.8;
  expect_same_bits(config, 100);
}

// What a shard drops follows from the shard, not from the rank that has it.
TEST(VirtualRanks, AlsoOfATorchScriptModuleThatDrops) {
  TrainConfig config = config_of("everything.pt", 24);
  config.channels_last = false;
  expect_same_bits(config, 100);
}

// Each shard changes the buffer, and the next step reads what shard 0 left.
TEST(VirtualRanks, AlsoOfATorchScriptModuleThatReadsABuffer) {
  TrainConfig config = config_of("reads-buffer.pt", 24);
  config.channels_last = false;
  expect_same_bits(config, 100);
}

TEST(VirtualRanks, TrainLikeOrdinaryOnes) {
  auto world = comm::MpiCommunicator::world();
  const Images set(1001);
  TrainConfig config = config_of("lenet", 24);
  const Outcome sharded = train_on(world, config, set);
  config.virtual_ranks = 0;
  const Outcome ordinary = train_on(world, config, set);
  ASSERT_EQ(sharded.losses.size(), ordinary.losses.size());
  for (std::size_t i = 0; i < sharded.losses.size(); ++i) {
    EXPECT_NEAR(sharded.losses[i], ordinary.losses[i], 1e-4 * ordinary.losses[i]) << i;
  }
}

}  // namespace
}  // namespace tandem::train
