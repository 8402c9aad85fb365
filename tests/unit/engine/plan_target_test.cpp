#include "engine/run/plan_target.hpp"

#include <gtest/gtest.h>

namespace tandem::app {
namespace {

constexpr double kBytes = 4e6;

// 2 ranks measured 1 s of computing, deviating by 0.1 s, 1e-8 s for each byte of messages and
// 1e-9 s in shared memory.
LocalTimes times_of_2() {
  LocalTimes times;
  times.ranks = 2;
  times.windows.compute = 1;
  times.windows.compute_deviation = 0.1;
  times.windows.parts.backward = 0.5;
  times.forecast.buckets = {{kBytes, 0}};
  times.forecast.sum = {0, 1e-9};
  times.forecast.agreement = 1e-3;
  times.messages = {0, 1e-8};
  times.traffic = comm::traffic_of({}, {2, 1}, kBytes);
  return times;
}

TargetPlan plan_for(const comm::AllReduceOptions& sums, const comm::Placement& placement,
                    const comm::Link& link = {}) {
  TargetPlan plan;
  plan.target = {placement, link};
  plan.traffic = comm::traffic_of(sums, placement, kBytes);
  plan.arithmetic.global_batch = 10 * static_cast<std::uint64_t>(placement.ranks());
  return predict_target(plan, times_of_2());
}

TEST(PlanTarget, OneRankOnlyComputes) {
  const TargetPlan plan = plan_for({}, {1, 1});
  EXPECT_EQ(plan.step(), 1);
  EXPECT_EQ(plan.images_per_second(), 10);
  EXPECT_EQ(plan.efficiency(), 1);
}

TEST(PlanTarget, OfOneHostSumsInSharedMemory) {
  const TargetPlan plan = plan_for({}, {1, 4});
  EXPECT_NEAR(plan.exchange, 4e-3, 1e-9);
  EXPECT_NEAR(plan.slowest, 0.1029, 1e-4);
  EXPECT_NEAR(plan.agreement, 2e-3, 1e-9) << "two rounds; one was measured";
}

TEST(PlanTarget, HostsAreJoinedByTheirLinks) {
  // 4 MB a direction at 1 MB/s, 2 rounds, and one of the agreement; 0.04 s are the processors'.
  const TargetPlan plan = plan_for({}, {2, 1}, {1e6, 0.01, 1});
  EXPECT_NEAR(plan.exchange, 4 + 0.02 + 0.04, 1e-9);
  EXPECT_NEAR(plan.agreement, 1e-3 + 0.01, 1e-9);
  EXPECT_NEAR(plan_for({}, {2, 1}, {1e6, 0.01, 2}).exchange, 8 + 0.02 + 0.04, 1e-9);
  EXPECT_NEAR(plan_for({}, {2, 1}, {1e15, 0, 1}).exchange, 0.04, 1e-7) << "the processors' work";
}

TEST(PlanTarget, TwoLevelsSumWithinTheHostAndSendLess) {
  const comm::Link link{1e6, 0, 1};
  const comm::AllReduceOptions levels{comm::AllReduceAlgorithm::kTwoLevel};
  EXPECT_NEAR(plan_for(levels, {2, 8}, link).exchange, 4 + 0.04 / 8 + 4e-3, 1e-9);
  EXPECT_NEAR(plan_for({}, {2, 8}, link).exchange, 4.04 * 2 * 15 / 16, 1e-9);
}

TEST(PlanTarget, AnEarlyBucketHidesBehindBackward) {
  LocalTimes times = times_of_2();
  times.forecast.buckets = {{kBytes / 2, 0.4}, {kBytes / 2, 0}};
  times.messages = {};
  const TargetPlan plan = plan_for({}, {2, 1}, {10e6, 0, 1});  // 0.2 s a bucket
  EXPECT_NEAR(plan.exchange, 0.4 + 0.04, 1e-9);
  EXPECT_NEAR(predict_target(plan, times).exchange, 0.2, 1e-9);
  times.can_overlap = false;
  EXPECT_NEAR(predict_target(plan, times).exchange, 0.4, 1e-9);
}

}  // namespace
}  // namespace tandem::app
