#include "train/timing/bucket_timeline.hpp"

#include <gtest/gtest.h>

#include "tandem/train/reducer.hpp"

namespace tandem::train {
namespace {

struct TwoLayers : torch::nn::Module {
  torch::Tensor a = register_parameter("a", torch::ones({20}));
  torch::Tensor b = register_parameter("b", torch::ones({40}));
};

TEST(BucketTimeline, TellWhenEachBucketWasComplete) {
  TwoLayers layers;
  ParameterArena arena(layers, false);
  BucketTimeline times(0, 2);
  Reducer reducer(arena, times, 1);
  ASSERT_EQ(reducer.buckets().size(), 2U);
  for (int step = 0; step < 3; ++step) {
    reducer.begin_micro_batch(0, 1, true);
    (layers.a.sum() + layers.b.sum()).backward();
    reducer.finish();
  }
  EXPECT_EQ(layers.a.grad()[0].item<float>(), 1);
  const std::vector<BucketCost> buckets = times.take();
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].bytes, 48 * sizeof(float)) << "with padding";
  EXPECT_EQ(buckets[1].bytes, 32 * sizeof(float));
  EXPECT_GT(buckets[0].seconds_before_end, 0);
  EXPECT_LT(buckets[0].seconds_before_end, 1);
  EXPECT_EQ(buckets[1].seconds_before_end, 0);
  EXPECT_TRUE(times.take().empty());
}

}  // namespace
}  // namespace tandem::train
