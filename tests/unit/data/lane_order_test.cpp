#include "tandem/data/lane_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "tandem/core/digest.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/sampler.hpp"

namespace tandem::data {
namespace {

constexpr std::uint64_t kEach = 1000;
constexpr std::uint64_t kNoWindow = 1;

// Blocks of `least` to `most` images.
std::vector<BlockImages> blocks_of(std::uint32_t count, std::uint32_t least, std::uint32_t most) {
  CounterRandom random{7};
  std::vector<BlockImages> blocks;
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t images = least + random.below(most - least + 1);
    blocks.push_back({first, images, images * kEach});
    first += images;
  }
  return blocks;
}

std::uint32_t images_in(const std::vector<BlockImages>& blocks) {
  return blocks.back().first + blocks.back().count;
}

std::vector<std::uint32_t> block_of_each(const std::vector<BlockImages>& blocks) {
  std::vector<std::uint32_t> block_of;
  for (std::uint32_t i = 0; i < blocks.size(); ++i)
    block_of.insert(block_of.end(), blocks[i].count, i);
  return block_of;
}

TrainingPlan plan_of(const std::vector<BlockImages>& blocks, std::uint64_t lanes,
                     std::uint64_t batch, std::uint64_t window = kNoWindow) {
  TrainingPlan plan;
  plan.image_count = images_in(blocks);
  plan.global_batch = batch;
  plan.seed = 3;
  plan.steps = 2 * plan.steps_per_epoch();
  plan.lanes = std::make_shared<const LaneOrder>(blocks, lanes, window);
  return plan;
}

using Steps = std::vector<std::vector<std::uint32_t>>;

// The images of each step, over all ranks in order.
Steps steps_of(const TrainingPlan& plan, int world) {
  Steps steps(plan.steps);
  for (int rank = 0; rank < world; ++rank) {
    TrainingSampler sampler(plan, rank, world);
    while (const auto request = sampler.next()) {
      auto& step = steps.at(request->step);
      step.insert(step.end(), request->images.begin(), request->images.end());
    }
  }
  return steps;
}

TEST(LaneOrder, UsesEachImageOnceAnEpoch) {
  for (const std::uint32_t count : {1U, 2U, 63U, 64U, 65U, 200U}) {
    const std::vector<BlockImages> blocks = blocks_of(count, 1, 9);
    for (const std::uint64_t lanes : {1U, 5U, 64U}) {
      for (const std::uint64_t batch : {1U, 17U, 64U, 300U, 5000U}) {
        for (const std::uint64_t window : {kNoWindow, 300 * kEach, std::uint64_t{1} << 40}) {
          std::vector<std::uint32_t> order = LaneOrder(blocks, lanes, window).images(1, 2, batch);
          std::sort(order.begin(), order.end());
          std::vector<std::uint32_t> all(images_in(blocks));
          std::iota(all.begin(), all.end(), 0);
          ASSERT_EQ(order, all) << count << " blocks, " << lanes << " lanes, batch " << batch;
        }
      }
    }
  }
}

TEST(LaneOrder, GivesTheSameGlobalBatchesAtAnyNumberOfRanks) {
  const std::vector<BlockImages> blocks = blocks_of(100, 2, 9);
  for (const std::uint64_t batch : {10U, 24U, 100U}) {  // below and above the 16 lanes
    TrainingPlan plan = plan_of(blocks, 16, batch, 50 * kEach);
    ASSERT_NE(plan.image_count % batch, 0U) << "a short last batch is meant";
    const Steps expected = steps_of(plan, 1);
    for (int world = 2; world <= 7; ++world) EXPECT_EQ(steps_of(plan, world), expected) << world;
    plan.accumulate = 3;
    for (int world = 1; world <= 7; ++world) EXPECT_EQ(steps_of(plan, world), expected) << world;
    plan.accumulate = 1;
    plan.virtual_ranks = 4;
    for (const int world : {1, 2, 4}) EXPECT_EQ(steps_of(plan, world), expected) << world;
  }
}

TEST(LaneOrder, GoesOnInTheMiddleOfAnEpoch) {
  TrainingPlan plan = plan_of(blocks_of(40, 3, 9), 8, 20);
  const Steps whole = steps_of(plan, 3);
  plan.first_step = plan.steps_per_epoch() + 3;
  const Steps rest = steps_of(plan, 3);
  for (std::size_t step = 0; step < plan.steps; ++step) {
    EXPECT_EQ(rest[step], step < plan.first_step ? Steps::value_type() : whole[step]) << step;
  }
}

TEST(LaneOrder, DropsTheShortBatch) {
  TrainingPlan plan = plan_of(blocks_of(40, 3, 9), 8, 20);
  const Steps whole = steps_of(plan, 1);
  const std::uint64_t steps = plan.steps_per_epoch();
  plan.drop_last = true;
  plan.steps = plan.steps_per_epoch();
  ASSERT_EQ(plan.steps, steps - 1);
  EXPECT_EQ(steps_of(plan, 2), Steps(whole.begin(), whole.begin() + static_cast<long>(steps) - 1));
}

TEST(LaneOrder, DiffersByEpochAndSeed) {
  const LaneOrder order(blocks_of(100, 2, 9), 16, kNoWindow);
  EXPECT_EQ(order.images(1, 1, 20), order.images(1, 1, 20));
  EXPECT_NE(order.images(1, 1, 20), order.images(1, 2, 20));
  EXPECT_NE(order.images(1, 1, 20), order.images(2, 1, 20));
}

// Checkpoints depend on it: another order would end a resumed run with other weights.
TEST(LaneOrder, IsThatOfEarlierVersions) {
  const auto order = LaneOrder(blocks_of(200, 10, 40), 64, 3000 * kEach).images(5, 6, 100);
  const std::string_view bytes(reinterpret_cast<const char*>(order.data()),
                               order.size() * sizeof(order[0]));
  EXPECT_EQ(sha256_hex(bytes).substr(0, 16), "8ce5b8adee6a38f5");
}

// With a block for each lane, the block names the lane.
TEST(LaneOrder, TakesAnEqualShareOfEachLane) {
  const std::vector<BlockImages> blocks = blocks_of(16, 500, 500);
  const std::vector<std::uint32_t> block_of = block_of_each(blocks);
  for (const std::uint64_t batch : {10U, 16U, 40U, 64U, 100U}) {
    const auto order = LaneOrder(blocks, 64, kNoWindow).images(1, 1, batch);
    std::vector<std::uint64_t> given(blocks.size());
    for (std::size_t first = 0; first < order.size(); first += batch) {
      const std::size_t last = std::min<std::size_t>(order.size(), first + batch);
      std::vector<std::uint64_t> share(blocks.size());
      std::set<std::uint32_t> seen;
      for (std::size_t i = first; i < last; ++i) {
        const std::uint32_t block = block_of[order[i]];
        if (share[block]++ == 0) {
          EXPECT_TRUE(seen.insert(block).second);
        }
        if (i > first && block != block_of[order[i - 1]]) {
          EXPECT_EQ(share[block], 1U) << "the share of a lane is in one piece";
        }
      }
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        given[i] += share[i];
        const double even = static_cast<double>(last) / 16;
        EXPECT_NEAR(static_cast<double>(given[i]), even, 2) << "lane " << i << " after " << last;
        EXPECT_NEAR(static_cast<double>(share[i]), static_cast<double>(last - first) / 16, 1.01);
      }
    }
  }
}

// Lanes of unequal length end together.
TEST(LaneOrder, TakesSharesInProportion) {
  const std::vector<BlockImages> blocks = blocks_of(10, 100, 900);
  const std::vector<std::uint32_t> block_of = block_of_each(blocks);
  const auto order = LaneOrder(blocks, 10, kNoWindow).images(1, 1, 50);
  std::vector<std::uint64_t> given(blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    ++given[block_of[order[i]]];
    if ((i + 1) % 50 != 0) continue;
    const double part = static_cast<double>(i + 1) / static_cast<double>(order.size());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      EXPECT_NEAR(static_cast<double>(given[b]), part * blocks[b].count, 2.5);
    }
  }
}

std::vector<std::set<std::uint32_t>> blocks_of_ranks(const TrainingPlan& plan,
                                                     const std::vector<BlockImages>& blocks,
                                                     int world) {
  const std::vector<std::uint32_t> block_of = block_of_each(blocks);
  std::vector<std::set<std::uint32_t>> found;
  for (int rank = 0; rank < world; ++rank) {
    std::set<std::uint32_t>& mine = found.emplace_back();
    TrainingSampler sampler(plan, rank, world);
    while (const auto request = sampler.next()) {
      for (const std::uint32_t image : request->images) mine.insert(block_of[image]);
    }
  }
  return found;
}

TEST(LaneOrder, ARankUsesTheBlocksOfItsLanes) {
  const std::vector<BlockImages> blocks = blocks_of(2000, 15, 25);
  for (const std::uint64_t batch : {64U, 512U}) {
    TrainingPlan plan = plan_of(blocks, 64, batch, 2 * 64 * 20 * kEach);
    plan.steps = plan.steps_per_epoch();
    for (int world = 2; world <= 8; ++world) {
      const auto found = blocks_of_ranks(plan, blocks, world);
      std::size_t all = 0;
      for (const auto& each : found) {
        all += each.size();
        EXPECT_LT(each.size(), blocks.size() * (1.0 / world + 0.08)) << world << " ranks";
      }
      // Each border between two ranks is in a lane or between two; batches below the lanes' number
      // times a few move it.
      const bool is_halved = (world & (world - 1)) == 0;
      const double lanes_twice = (is_halved ? 1.5 : 3.5) * (world - 1);
      EXPECT_LE(all, blocks.size() * (1 + lanes_twice / 64)) << world << " ranks, batch " << batch;
    }
  }
}

// The bytes between the first and the last use of a block, and of all that are in use.
TEST(LaneOrder, SpreadsABlockOverTheWindow) {
  const std::vector<BlockImages> blocks = blocks_of(640, 20, 20);
  const std::vector<std::uint32_t> block_of = block_of_each(blocks);
  for (const std::uint64_t window_blocks : {1U, 2U, 5U}) {
    const std::uint64_t window = window_blocks * 16 * 20;  // images
    const LaneOrder lanes(blocks, 16, window * kEach);
    const auto order = lanes.images(1, 1, 64);
    std::map<std::uint32_t, std::vector<std::size_t>> uses;
    for (std::size_t i = 0; i < order.size(); ++i) uses[block_of[order[i]]].push_back(i);
    std::vector<std::int64_t> change(order.size() + 1);
    std::size_t longest = 0;
    std::size_t sum = 0;
    for (const auto& [block, places] : uses) {
      longest = std::max(longest, places.back() - places.front());
      sum += places.back() - places.front();
      for (const std::size_t place : places) {
        ++change[places.front()];
        --change[place];
      }
    }
    EXPECT_LE(longest, window * 5 / 4 + 64) << "a lane has a few more of one block than of another";
    EXPECT_GT(sum / uses.size(), window * 8 / 10);
    std::int64_t in_use = 0;
    std::int64_t most = 0;
    for (const std::int64_t each : change) most = std::max(most, in_use += each);
    const auto expected = static_cast<double>(lanes.bytes_in_use()) / kEach;
    EXPECT_LT(most, 1.1 * expected);
    EXPECT_GT(most, 0.6 * expected);
  }
}

// The sum over batches of a rank and classes of (found - expected)^2 / expected.
double unfairness(const TrainingPlan& plan, const std::vector<std::uint32_t>& labels,
                  std::uint32_t classes) {
  double sum = 0;
  for (int rank = 0; rank < 4; ++rank) {
    TrainingSampler sampler(plan, rank, 4);
    while (const auto request = sampler.next()) {
      std::vector<double> found(classes);
      for (const std::uint32_t image : request->images) ++found[labels[image]];
      const double expected = static_cast<double>(request->images.size()) / classes;
      for (const double each : found) sum += (each - expected) * (each - expected) / expected;
    }
  }
  return sum;
}

// Batches of a rank have as even classes as a random deal, for a file packed in random order.
TEST(LaneOrder, RankBatchesAreFair) {
  const std::vector<BlockImages> blocks = blocks_of(1500, 30, 50);
  constexpr std::uint32_t kClasses = 10;
  std::vector<std::uint32_t> labels = permutation(images_in(blocks), 11, 0);
  for (std::uint32_t& label : labels) label %= kClasses;
  TrainingPlan plan = plan_of(blocks, 64, 128, 128 * 40 * kEach);
  plan.drop_last = true;
  plan.steps = 2 * plan.steps_per_epoch();
  const double of_lanes = unfairness(plan, labels, kClasses);
  plan.lanes = nullptr;
  EXPECT_NEAR(of_lanes / unfairness(plan, labels, kClasses), 1, 0.03);
}

}  // namespace
}  // namespace tandem::data
