#include "engine/run/run_banner.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/train_options.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

TEST(GivenOptions, AreTheWordsAsTypedAndTheEnvironment) {
  ::setenv("TANDEM_LR", "0.1", 1);
  const Arguments words{"--data", "my data.h5", "--quiet", "--epochs=3"};
  const Options options = testing::resolve_train(words);
  ::unsetenv("TANDEM_LR");
  EXPECT_EQ(
      given_options(options, words),
      (std::vector<std::string>{"TANDEM_LR=0.1", "--data 'my data.h5'", "--quiet", "--epochs=3"}));
}

TEST(DescribeDuration, IsInEpochsUnlessTheStepsAreLimited) {
  train::TrainConfig config;
  config.global_batch_size = 128;
  const auto described = [&] {
    return describe_duration(config, train::BatchArithmetic::of(config, 50'000, 2));
  };
  EXPECT_EQ(described(), "10 epochs, 3,910 steps");
  config.epochs = 1;
  EXPECT_EQ(described(), "1 epoch, 391 steps");
  config.epochs = 0.5;
  EXPECT_EQ(described(), "0.5 epochs, 196 steps");
  config.max_steps = 1;
  EXPECT_EQ(described(), "1 step");
  config.max_steps = 1'000'000;
  EXPECT_EQ(described(), "0.5 epochs, 196 steps");
}

TEST(DescribeFewSteps, WarnsOfABatchThatLeavesHardlyAnyFullStep) {
  train::TrainConfig config;
  const auto warning = [&](std::uint64_t images, int ranks) {
    return describe_few_steps(config, train::BatchArithmetic::of(config, images, ranks), images,
                              ranks);
  };
  EXPECT_EQ(warning(384, 2), "");
  EXPECT_EQ(warning(383, 2),
            "the global batch of 128 is a large part of the 383 training images, so an epoch has 3 "
            "steps; fix: --batch-size 19");
  config.batch_size = 100'000;
  EXPECT_EQ(warning(50'000, 2),
            "the global batch of 200,000 is larger than the 50,000 training images, so an epoch "
            "has 1 step; fix: --batch-size 2500");
  config.global_batch_size = 512;
  EXPECT_EQ(warning(144, 2),
            "the global batch of 512 is larger than the 144 training images, so an epoch has 1 "
            "step; fix: --global-batch-size 14");
  config.global_batch_size = 0;
  config.batch_size = 1;
  EXPECT_EQ(warning(5, 2),
            "the global batch of 2 is a large part of the 5 training images, so an epoch has 3 "
            "steps; fix: fewer ranks");
  EXPECT_NE(warning(2, 1).find("; fix: more training images"), std::string::npos);
  config.accumulate = 4;
  EXPECT_NE(warning(20, 2).find("; fix: a lower --accumulate"), std::string::npos);
  config.accumulate = 1;
  config.virtual_ranks = 4;
  EXPECT_NE(warning(5, 2).find("; fix: a lower --virtual-ranks"), std::string::npos);
  EXPECT_NE(warning(5, 4).find("; fix: fewer ranks and a lower --virtual-ranks"), std::string::npos)
      << "fewer shards cannot be dealt to these ranks";
  config.global_batch_size = 1;
  EXPECT_NE(warning(2, 4).find("; fix: more training images"), std::string::npos);
}

TEST(DescribeShortAverage, WarnsOfARunThatIsTooShortForIt) {
  train::TrainConfig config;
  train::BatchArithmetic arithmetic;
  arithmetic.total_steps = 1000;
  EXPECT_EQ(describe_short_average(config, arithmetic), "");
  config.ema = 0.997;
  EXPECT_EQ(describe_short_average(config, arithmetic), "") << "0.997^1000 = 0.0496";
  config.ema = 0.999;
  EXPECT_EQ(describe_short_average(config, arithmetic),
            "the average of --ema 0.999 still holds 37 % of the initial weights after the run's "
            "1,000 steps; fix: --ema 0.997");
}

}  // namespace
}  // namespace tandem::app
