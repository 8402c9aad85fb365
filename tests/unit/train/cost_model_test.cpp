#include "tandem/train/cost_model.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

TEST(FitSums, FindsTheLine) {
  const AlphaBetaCost fit = fit_sums({{1e7, 2e-4 + 1e-1}, {0, 2e-4}, {1e5, 2e-4 + 1e-3}});
  EXPECT_NEAR(fit.latency, 2e-4, 1e-9);
  EXPECT_NEAR(fit.seconds_per_byte, 1e-8, 1e-14);
  EXPECT_NEAR(fit.seconds(1e6), 2e-4 + 1e-2, 1e-8);
}

// A link of 12.5 MB/s that lets 128 kB of a burst pass at once.
TEST(FitSums, ABurstThatPassesAtOnceIsNotTakenForTheLink) {
  const auto seconds = [](double bytes) {
    return 2e-4 + (bytes > 128e3 ? (bytes - 128e3) / 12.5e6 : 0);
  };
  const AlphaBetaCost fit = fit_sums(
      {{4e3, seconds(4e3)}, {1e5, seconds(1e5)}, {1e6, seconds(1e6)}, {1e7, seconds(1e7)}});
  EXPECT_NEAR(fit.latency, 2e-4, 1e-9);
  EXPECT_NEAR(fit.seconds(1e7) / seconds(1e7), 1, 0.01);
}

TEST(FitSums, IsNeverNegative) {
  const AlphaBetaCost falling = fit_sums({{1e3, 2e-3}, {1e6, 1e-3}});
  EXPECT_EQ(falling.latency, 2e-3);
  EXPECT_EQ(falling.seconds_per_byte, 0);
}

TEST(FitSums, TakesOneMeasurementAndRefusesNone) {
  EXPECT_NEAR(fit_sums({{1e6, 0.01}}).seconds(2e6), 0.02, 1e-9);
  EXPECT_THROW(fit_sums({}), InternalError);
  EXPECT_THROW(fit_sums({{1e6, 0}}), UnavailableError);
}

// data 1, forward 2, backward 4, update 1; a sum of b bytes takes b seconds.
constexpr StepCost kStep{1, 2, 4, 99, 1};
constexpr AlphaBetaCost kSecondAByte{0, 1};

TEST(AddExchange, OneRankExchangesNothing) { EXPECT_EQ(add_exchange(kStep, {}, {}, 0).whole(), 8); }

TEST(AddExchange, OneBucketFollowsBackward) {
  const StepCost step = add_exchange(kStep, {{3, 0}}, kSecondAByte, 1);
  EXPECT_EQ(step.exchange, 3);
  EXPECT_EQ(step.whole(), 11);
}

TEST(AddExchange, EarlierBucketsHideBehindBackward) {
  // The first begins at 1 and ends at 3, while backward goes on until 4.
  EXPECT_EQ(add_exchange(kStep, {{2, 3}, {1, 0}}, kSecondAByte, 1).whole(), 8 + 1);
  // The first begins at 2 and ends at 7: 3 after backward.
  EXPECT_EQ(add_exchange(kStep, {{5, 2}, {1, 0}}, kSecondAByte, 1).whole(), 8 + 3 + 1);
}

TEST(AddExchange, ABucketWaitsForTheOneBefore) {
  // 1 to 4, then 4 to 6 although it is complete at 2, and the last.
  EXPECT_EQ(add_exchange(kStep, {{3, 3}, {2, 2}, {1, 0}}, kSecondAByte, 1).whole(), 8 + 2 + 1);
}

TEST(AddExchange, WhatTheRanksDoThemselvesHoldsBackwardUp) {
  // Nothing overlaps: all three bytes are added.
  const StepCost none = add_exchange(kStep, {{2, 3}, {1, 0}}, kSecondAByte, 0);
  EXPECT_EQ(none.backward, 6);
  EXPECT_EQ(none.whole(), 8 + 3);
  // Half of it does.
  EXPECT_EQ(add_exchange(kStep, {{2, 3}, {1, 0}}, kSecondAByte, 0.5).whole(), 8 + 1 + 1);
}

TEST(AddExchange, NoBucketIsCompleteBeforeBackwardBegins) {
  EXPECT_EQ(add_exchange(kStep, {{5, 50}, {1, 0}}, kSecondAByte, 1).whole(), 8 + 1 + 1);
}

TEST(Carry, KeepsWhatWasMeasuredOnAsManyRanks) {
  for (const Rounds rounds : {Rounds::kDoubling, Rounds::kRing}) {
    const AlphaBetaCost same = extrapolate({1e-3, 1e-9}, 4, 4, rounds);
    EXPECT_DOUBLE_EQ(same.latency, 1e-3);
    EXPECT_DOUBLE_EQ(same.seconds_per_byte, 1e-9);
  }
}

TEST(Carry, LatencyGrowsWithRoundsAndBytesTowardsTwice) {
  const AlphaBetaCost doubling = extrapolate({1e-3, 1e-9}, 2, 4096, Rounds::kDoubling);
  EXPECT_DOUBLE_EQ(doubling.latency, 12e-3);
  EXPECT_DOUBLE_EQ(doubling.seconds_per_byte, 1e-9 * 2 * 4095 / 4096);
  EXPECT_DOUBLE_EQ(extrapolate({1e-3, 1e-9}, 2, 4096, Rounds::kRing).latency, 4.095);
}

// Values of Harter, Expected Values of Normal Order Statistics, Biometrika 48 (1961), table 1; of
// 4,096 by 10^6 draws, to two digits.
TEST(ExpectedMaximum, OfNormalSamples) {
  EXPECT_NEAR(expected_maximum(1), 0, 1e-5);
  EXPECT_NEAR(expected_maximum(2), 0.56419, 1e-5);
  EXPECT_NEAR(expected_maximum(4), 1.02938, 1e-5);
  EXPECT_NEAR(expected_maximum(10), 1.53875, 1e-5);
  EXPECT_NEAR(expected_maximum(100), 2.50759, 1e-5);
  EXPECT_NEAR(expected_maximum(4096), 3.6, 0.05);
}

// On this host a sum of 100 bytes takes 2 messages of a rank, which sends 100 bytes, and 1 + 100 s.
const comm::Traffic kHere{"direct", 2, 2, 100, 100, 0};
constexpr AlphaBetaCost kMeasured{1, 1};

TEST(PlanSum, WithinAHostIsTheProcessorsWork) {
  const PlannedSum sum = plan_sum({"direct", 2, 6, 150, 0, 0}, {}, 100, kHere, kMeasured);
  EXPECT_EQ(sum.cost.latency, 3) << "three times the messages";
  EXPECT_EQ(sum.cost.seconds_per_byte, 1.5);
  EXPECT_EQ(sum.overlap, 0) << "ranks wait for no link";
}

TEST(PlanSum, OverALinkIsLonger) {
  const comm::Traffic ring{"ring", 6, 6, 150, 150, 0};
  const PlannedSum sum = plan_sum(ring, {0.5, 2, 1}, 100, kHere, kMeasured);
  EXPECT_EQ(sum.cost.latency, 3 + 6 * 2);
  EXPECT_EQ(sum.cost.seconds_per_byte, 1.5 + 3);
  EXPECT_DOUBLE_EQ(sum.overlap, 1 - 153.0 / 465);
}

TEST(PlanSum, OfOneRankIsTheLinkAlone) {
  const PlannedSum sum = plan_sum({"direct", 2, 2, 100, 100, 0}, {50, 1, 1}, 100, {}, {});
  EXPECT_EQ(sum.cost.latency, 2);
  EXPECT_EQ(sum.cost.seconds(100), 2 + 2);
  EXPECT_EQ(sum.overlap, 1);
}

TEST(SentBytes, AreTwiceTheSumButForTheOwnPart) {
  EXPECT_EQ(sent_bytes(100, 1), 0);
  EXPECT_EQ(sent_bytes(100, 2), 100);
  EXPECT_EQ(sent_bytes(100, 4), 150);
}

}  // namespace
}  // namespace tandem::train
