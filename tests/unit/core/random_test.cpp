#include "tandem/core/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace tandem {
namespace {

// The first outputs of SplitMix64 with seed 1234567, as published with its reference code: the
// generator adds the golden gamma, then mixes.
TEST(Mix64, IsTheFinalizerOfSplitMix64) {
  constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;
  EXPECT_EQ(mix64(1234567 + kGoldenGamma), 6457827717110365317U);
  EXPECT_EQ(mix64(1234567 + 2 * kGoldenGamma), 3203168211198807973U);
  EXPECT_EQ(mix64(0), 0U);
}

TEST(CounterRandom, IsAFunctionOfItsKey) {
  CounterRandom a{1, 2, 3};
  CounterRandom b{1, 2, 3};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
}

// Order, length and zeros in the key matter: (seed 0, epoch 1) is not (seed 1, epoch 0).
TEST(CounterRandom, DifferentKeysDifferFromTheFirstNumber) {
  std::set<std::uint64_t> first;
  for (std::uint64_t i = 0; i < 20; ++i) {
    for (std::uint64_t j = 0; j < 20; ++j) first.insert(CounterRandom{i, j}.next());
    first.insert(CounterRandom{i}.next());
    first.insert(CounterRandom{i, 0, 0}.next());
  }
  EXPECT_EQ(first.size(), 20U * 22U);
}

TEST(CounterRandom, BelowIsUniformAndReachesBothEnds) {
  constexpr std::uint32_t kBound = 7;
  constexpr int kDraws = 70000;
  std::array<int, kBound> counts{};
  CounterRandom random{42};
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.below(kBound));
  const double expected = static_cast<double>(kDraws) / kBound;
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_squared, 22.46);  // 6 degrees of freedom, p = 0.001
  EXPECT_EQ(random.below(1), 0U);
}

TEST(CounterRandom, UniformIsInTheHalfOpenInterval) {
  CounterRandom random{7};
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

TEST(CounterRandom, NormalHasMeanZeroAndVarianceOne) {
  CounterRandom random{8};
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 20000; ++i) {
    const double value = random.normal();
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 20000, 0.0, 0.03);
  EXPECT_NEAR(squares / 20000, 1.0, 0.05);
}

TEST(Permutation, HoldsEveryNumberOnce) {
  for (const std::uint32_t count : {0U, 1U, 2U, 1009U}) {
    std::vector<std::uint32_t> order = permutation(count, 5, 6);
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
  }
}

TEST(Permutation, IsAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(permutation(100, 1, 2), permutation(100, 1, 2));
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 2, 1));
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 1, 3));
}

// All 24 orders of four, each about equally often: a shuffle that draws from the wrong range fails.
TEST(Permutation, IsUniformOverOrders) {
  std::array<int, 256> counts{};
  constexpr int kDraws = 24000;
  for (std::uint64_t epoch = 0; epoch < kDraws; ++epoch) {
    const std::vector<std::uint32_t> order = permutation(4, 3, epoch);
    ++counts.at(order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3]);
  }
  double chi_squared = 0;
  int seen = 0;
  for (const int count : counts) {
    if (count == 0) continue;
    ++seen;
    chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_EQ(seen, 24);
  EXPECT_LT(chi_squared, 49.73);  // 23 degrees of freedom, p = 0.001
}

}  // namespace
}  // namespace tandem
