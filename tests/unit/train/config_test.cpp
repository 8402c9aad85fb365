#include "tandem/train/config.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

TEST(BatchArithmetic, MultipliesPerRankBatches) {
  TrainConfig config;
  config.batch_size = 256;
  config.accumulate = 2;
  config.epochs = 2;
  config.learning_rate = 0.1;
  config.lr_reference_batch = 256;
  const auto result = BatchArithmetic::of(config, 50000, 4);
  EXPECT_EQ(result.global_batch, 2048U);
  EXPECT_EQ(result.steps_per_epoch, 25U);
  EXPECT_EQ(result.total_steps, 50U);
  EXPECT_DOUBLE_EQ(result.learning_rate, 0.8);
  EXPECT_EQ(result.describe(config, 4),
            "global batch 2048 = 256 x 4 ranks x accumulate 2; lr 0.8 (0.1 at 256, linear); "
            "25 steps/epoch");
  config.sums_loss = true;
  config.epochs = 1;
  config.batch_size = 6400;
  EXPECT_NE(BatchArithmetic::of(config, 50'000, 4)
                .describe(config, 4)
                .find("; 1 step/epoch; gradient: sum over the global batch"),
            std::string::npos);
}

TEST(BatchArithmetic, KeepsTheGlobalBatchAtAnyNumberOfRanks) {
  TrainConfig config;
  config.global_batch_size = 128;
  for (const int world : {1, 2, 3, 4}) {
    EXPECT_EQ(BatchArithmetic::of(config, 1000, world).global_batch, 128U);
  }
  EXPECT_EQ(BatchArithmetic::of(config, 1000, 3).describe(config, 3),
            "global batch 128 dealt to 3 ranks x accumulate 1, 42 or 43 images each; lr 0.05; "
            "8 steps/epoch");
  config.global_batch_size = 1000;
  EXPECT_EQ(
      BatchArithmetic::of(config, 1000, 4).describe(config, 4),
      "global batch 1000 dealt to 4 ranks x accumulate 1, 250 images each; lr 0.05; 1 step/epoch");
}

TEST(BatchArithmetic, CountsFractionsOfEpochsAndLimits) {
  TrainConfig config;
  config.global_batch_size = 100;
  config.epochs = 1.5;
  EXPECT_EQ(BatchArithmetic::of(config, 1000, 1).total_steps, 15U);
  config.max_steps = 7;
  EXPECT_EQ(BatchArithmetic::of(config, 1000, 1).total_steps, 7U);
  config.max_steps = 0;
  config.epochs = 0.3;  // 0.3 * 10 is 3, although not in binary
  EXPECT_EQ(BatchArithmetic::of(config, 1000, 1).total_steps, 3U);
}

TEST(BatchArithmetic, VirtualRanksCountInsteadOfRanks) {
  TrainConfig config;
  config.batch_size = 32;
  config.virtual_ranks = 4;
  for (const int world : {1, 2, 4}) {
    EXPECT_EQ(BatchArithmetic::of(config, 1000, world).global_batch, 128U);
  }
  EXPECT_EQ(BatchArithmetic::of(config, 1000, 2).describe(config, 2),
            "global batch 128 = 32 x 4 virtual ranks x accumulate 1; lr 0.05; 8 steps/epoch");
  for (const int world : {3, 8}) {
    EXPECT_THROW(BatchArithmetic::of(config, 1000, world), UsageError) << world;
  }
}

TEST(BatchArithmetic, RefusesToDropTheOnlyBatch) {
  TrainConfig config;
  config.global_batch_size = 2000;
  EXPECT_EQ(BatchArithmetic::of(config, 1000, 1).steps_per_epoch, 1U);
  config.drop_last = true;
  EXPECT_THROW(BatchArithmetic::of(config, 1000, 1), UsageError);
}

}  // namespace
}  // namespace tandem::train
