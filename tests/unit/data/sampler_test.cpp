#include "tandem/data/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tandem::data {
namespace {

TEST(SliceOf, CoversWithCeilOrFloor) {
  for (std::uint64_t count = 0; count < 40; ++count) {
    for (std::uint64_t parts = 1; parts < 9; ++parts) {
      std::uint64_t next = 0;
      for (std::uint64_t part = 0; part < parts; ++part) {
        const Slice slice = slice_of(count, part, parts);
        EXPECT_EQ(slice.first, next);
        EXPECT_TRUE(slice.count == count / parts || slice.count == (count + parts - 1) / parts);
        next += slice.count;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TrainingPlan plan_of(std::uint32_t images, std::uint64_t batch, std::uint64_t epochs) {
  TrainingPlan plan;
  plan.image_count = images;
  plan.global_batch = batch;
  plan.seed = 5;
  plan.steps = plan.steps_per_epoch() * epochs;
  return plan;
}

// The images of each step over all ranks and micro-batches, in rank order.
std::vector<std::vector<std::uint32_t>> images_by_step(const TrainingPlan& plan, int world) {
  std::vector<std::vector<std::uint32_t>> steps(plan.steps);
  for (int rank = 0; rank < world; ++rank) {
    TrainingSampler sampler(plan, rank, world);
    std::uint64_t requests = 0;
    while (const auto request = sampler.next()) {
      ++requests;
      auto& step = steps.at(request->step);
      step.insert(step.end(), request->images.begin(), request->images.end());
      EXPECT_EQ(request->global_count, plan.images_in_step(request->step));
      EXPECT_EQ(request->epoch, request->step / plan.steps_per_epoch());
    }
    // Equal on every rank.
    EXPECT_EQ(requests, (plan.steps - plan.first_step) * plan.micro_batches_of_rank(world));
  }
  return steps;
}

TEST(TrainingSampler, UsesEveryImageOncePerEpochAtAnyNumberOfRanks) {
  for (const std::uint32_t count : {1U, 7U, 97U, 100U}) {  // primes, and fewer than ranks
    for (int world = 1; world <= 8; ++world) {
      const TrainingPlan plan = plan_of(count, 10, 2);
      const auto steps = images_by_step(plan, world);
      for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
        std::multiset<std::uint32_t> seen;
        for (std::uint64_t step = 0; step < plan.steps_per_epoch(); ++step) {
          const auto& images = steps[epoch * plan.steps_per_epoch() + step];
          seen.insert(images.begin(), images.end());
        }
        EXPECT_EQ(seen.size(), count);
        EXPECT_EQ(std::set<std::uint32_t>(seen.begin(), seen.end()).size(), count);
      }
    }
  }
}

TEST(TrainingSampler, GivesTheSameGlobalBatchesInTheSameOrderAtAnyNumberOfRanks) {
  TrainingPlan plan = plan_of(97, 10, 3);
  const auto expected = images_by_step(plan, 1);
  for (int world = 2; world <= 8; ++world) EXPECT_EQ(images_by_step(plan, world), expected);
  plan.accumulate = 3;
  for (int world = 1; world <= 4; ++world) EXPECT_EQ(images_by_step(plan, world), expected);
}

TEST(TrainingSampler, GoesOnInTheMiddleAsIfItHadNeverStopped) {
  TrainingPlan plan = plan_of(97, 10, 3);
  const auto whole = images_by_step(plan, 3);
  plan.first_step = 14;  // in the second epoch
  auto rest = images_by_step(plan, 3);
  for (std::size_t step = 0; step < plan.steps; ++step) {
    EXPECT_EQ(rest[step], step < 14 ? std::vector<std::uint32_t>{} : whole[step]) << step;
  }
}

// What a shard holds is a function of its number alone.
TEST(TrainingSampler, CutsVirtualRanksAlikeAtAnyNumberOfRanks) {
  TrainingPlan plan = plan_of(97, 10, 2);
  plan.virtual_ranks = 8;
  const auto shards_of = [&](int world) {
    std::vector<std::vector<std::vector<std::uint32_t>>> steps(plan.steps);
    for (int rank = 0; rank < world; ++rank) {
      TrainingSampler sampler(plan, rank, world);
      while (const auto request = sampler.next()) {
        steps.at(request->step).push_back(request->images);
      }
    }
    return steps;
  };
  const auto alone = shards_of(1);
  EXPECT_EQ(alone[0].size(), 8U);
  EXPECT_EQ(alone[0][1].size(), 2U);  // 10 images: two shards of 2, six of 1
  EXPECT_EQ(alone[0][2].size(), 1U);
  for (const int world : {2, 4, 8}) EXPECT_EQ(shards_of(world), alone) << world;
  EXPECT_EQ(images_by_step(plan, 4), images_by_step(plan_of(97, 10, 2), 1));
}

TEST(TrainingSampler, ShufflesEachEpochAnewAndBySeed) {
  TrainingPlan plan = plan_of(50, 50, 2);
  const auto steps = images_by_step(plan, 1);
  EXPECT_NE(steps[0], steps[1]);
  EXPECT_FALSE(std::is_sorted(steps[0].begin(), steps[0].end()));
  EXPECT_EQ(images_by_step(plan, 1), steps);
  plan.seed = 6;
  EXPECT_NE(images_by_step(plan, 1)[0], steps[0]);
}

TEST(TrainingSampler, DropsTheShortBatchOnlyWhenAsked) {
  TrainingPlan plan = plan_of(25, 10, 1);
  EXPECT_EQ(plan.steps_per_epoch(), 3U);
  EXPECT_EQ(plan.images_in_step(2), 5U);
  plan.drop_last = true;
  EXPECT_EQ(plan.steps_per_epoch(), 2U);
}

TEST(EvaluationSampler, CutsBatchesOfAnotherSize) {
  EXPECT_EQ(EvaluationSampler::batch_count(70, 32), 3U);
  std::vector<std::size_t> sizes;
  for (int rank = 0; rank < 2; ++rank) {
    EvaluationSampler sampler(70, rank, 2, 32);
    while (const auto request = sampler.next()) {
      EXPECT_EQ(request->images.front(), request->step * 32);
      sizes.push_back(request->images.size());
    }
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{32, 6, 32}));
}

TEST(EvaluationSampler, DealsFixedBatchesToRanks) {
  for (const std::uint32_t count : {1U, 499U, 500U, 501U, 1511U, 10000U}) {
    for (int world = 1; world <= 7; ++world) {
      std::multiset<std::uint32_t> seen;
      for (int rank = 0; rank < world; ++rank) {
        EvaluationSampler sampler(count, rank, world);
        while (const auto request = sampler.next()) {
          EXPECT_EQ(request->images.front(), request->step * 500);
          EXPECT_EQ(request->images.size(),
                    std::min<std::uint64_t>(500, count - request->step * 500));
          seen.insert(request->images.begin(), request->images.end());
        }
      }
      EXPECT_EQ(seen.size(), count);
      EXPECT_EQ(std::set<std::uint32_t>(seen.begin(), seen.end()).size(), count);
    }
  }
}

}  // namespace
}  // namespace tandem::data
