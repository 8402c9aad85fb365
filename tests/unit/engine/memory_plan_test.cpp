#include "engine/run/memory_plan.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

// 1,000 training and 300 test images of 4 x 5 in color: 240 bytes as floats and 8 of a label.
data::DatasetInfo small_set() {
  data::DatasetInfo info;
  info.shape = {3, 4, 5};
  info.classes = {"cat", "dog"};
  info.train_count = 1000;
  info.test_count = 300;
  return info;
}

TEST(DataMemory, CountsFiveBatchesOfALoader) {
  train::TrainConfig config;
  config.batch_size = 10;
  config.eval_batch_size = 20;
  const DataMemory one = DataMemory::of(config, small_set(), 1, 777);
  EXPECT_EQ(one.images, 777U);
  EXPECT_EQ(one.train_batches, 5U * 10 * 248);
  EXPECT_EQ(one.eval_batches, 5U * 20 * 248);
  // 15 batches are 4 or fewer of each of 4 ranks.
  EXPECT_EQ(DataMemory::of(config, small_set(), 4, 0).eval_batches, 4U * 20 * 248);
  config.eval_batch_size = 500;
  EXPECT_EQ(DataMemory::of(config, small_set(), 4, 0).eval_batches, 300U * 248);
  config.validation_split = 0.5;
  EXPECT_EQ(DataMemory::of(config, small_set(), 4, 0).eval_batches, 500U * 248);
  config.eval_every = 0;
  EXPECT_EQ(DataMemory::of(config, small_set(), 1, 0).eval_batches, 0U);
}

TEST(DataMemory, CutsAGlobalBatchAmongRanksAndMicroBatches) {
  train::TrainConfig config;
  config.global_batch_size = 100;
  config.accumulate = 2;
  EXPECT_EQ(DataMemory::of(config, small_set(), 3, 0).train_batches, 5U * 17 * 248);
  config.accumulate = 1;
  config.virtual_ranks = 8;
  EXPECT_EQ(DataMemory::of(config, small_set(), 2, 0).train_batches, 5U * 13 * 248);
}

TEST(DataMemory, CountsTargetsOfAMultiLabelSetInPlaceOfALabel) {
  train::TrainConfig config;
  config.batch_size = 10;
  data::DatasetInfo info = small_set();
  info.multi_label = true;
  EXPECT_EQ(DataMemory::of(config, info, 1, 0).train_batches, 5U * 10 * (240 + 2 * 4));
  info.classes.resize(80);
  EXPECT_EQ(DataMemory::of(config, info, 1, 0).train_batches, 5U * 10 * (240 + 80 * 4));
}

TEST(LeastState, FollowsTheOptimizer) {
  train::TrainConfig config;
  config.optimizer.name = "adamw";
  EXPECT_EQ(least_state(config, 100).of_rank, 4U * 400);
  config.ema = 0.9;
  EXPECT_EQ(least_state(config, 100).of_rank, 5U * 400);
  config.ema = 0;
  config.optimizer.name = "sgd";
  config.optimizer.momentum = 0;
  EXPECT_EQ(least_state(config, 100).of_rank, 2U * 400);
  config.optimizer.momentum = 0.9;
  config.share_weights = true;
  const StateMemory shared = least_state(config, 100);
  EXPECT_EQ(shared.of_rank, 400U);
  EXPECT_EQ(shared.of_host, 2U * 400);
}

TEST(RequireMemory, NamesPartsAndTheirOptions) {
  const DataMemory data{800'000'000, 100'000'000, 0};
  const StateMemory state{50'000'000};
  EXPECT_NO_THROW(require_memory(data, state, 2, {1'100'000'000, true}));
  try {
    require_memory(data, state, 2, {1'099'999'999, true});
    FAIL() << "1.1 GB fit into less";
  } catch (const UnavailableError& error) {
    const std::string words = error.what();
    EXPECT_EQ(
        words.find("no memory for this job on this host: it needs at least 1.1 GB, 1.1 GB are "
                   "available (limit of the control group): 800.0 MB of images (picture files: "
                   "--cache-mb"),
        0U)
        << words;
    for (const char* part :
         {"2 x 100.0 MB of training batches (--batch-size",
          "2 x 50.0 MB of weights, gradients and optimizer (--share-weights)", "sbatch --mem"}) {
      EXPECT_NE(words.find(part), std::string::npos) << words;
    }
    EXPECT_EQ(words.find("--eval-batch-size"), std::string::npos) << "it takes nothing";
  }
}

TEST(MemoryPlan, AddsUp) {
  MemoryPlan plan;
  plan.ranks = 3;
  plan.data = {1000, 10, 20, 5};
  plan.state = {30, 400, 0};
  plan.activations = 40;
  plan.program = 50;
  EXPECT_EQ(plan.of_rank(), 155U);
  EXPECT_EQ(plan.of_host(), 1000U + 400 + 3 * 155);
  const Json json = plan.to_json();
  EXPECT_EQ(json.at("host_bytes"), plan.of_host());
  EXPECT_EQ(json.at("cache_bytes"), 5U);
  EXPECT_TRUE(json.at("limit_bytes").is_null());
}

TEST(MemoryPlan, ShowsOnlyWhatItHas) {
  MemoryPlan plan;
  plan.data = {1000, 10, 20, 0};
  plan.activations = 40;
  EXPECT_NE(plan.to_text().find("activations and program        40 B"), std::string::npos)
      << plan.to_text();
  EXPECT_EQ(plan.to_text().find("cache"), std::string::npos);
  EXPECT_EQ(plan.to_text().find("\nprogram"), std::string::npos);
  plan.program = 50;
  plan.data.cache = 5;
  EXPECT_EQ(plan.to_text().find("activations and"), std::string::npos);
  EXPECT_NE(plan.to_text().find("cache of picture files         5 B"), std::string::npos)
      << plan.to_text();
}

}  // namespace
}  // namespace tandem::app
