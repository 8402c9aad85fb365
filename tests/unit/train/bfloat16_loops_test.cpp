#include "allreduce/bfloat16_loops.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/bfloat16.hpp"
#include "tandem/core/random.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::comm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float from_bits(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct Rounded {
  std::vector<Bfloat16> values;
  std::vector<float> errors;
};
Rounded rounded(const std::vector<float>& values, std::vector<float> errors = {}) {
  errors.resize(values.size());
  Rounded result{std::vector<Bfloat16>(values.size()), std::move(errors)};
  round_and_keep_error(result.values.data(), values.data(), result.errors.data(), values.size());
  return result;
}

// Of any size: normal, subnormal, near the largest.
std::vector<float> floats_of_all_kinds() {
  CounterRandom random{3};
  std::vector<float> values;
  while (values.size() < 20'000) {
    const float value = from_bits(static_cast<std::uint32_t>(random.next()));
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

TEST(Bfloat16Loops, RoundAsLibtorchDoes) {
  const std::vector<float> values = floats_of_all_kinds();
  const Rounded found = rounded(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(found.values[i].bits, c10::BFloat16(values[i]).x) << values[i];
  }
}

TEST(Bfloat16Loops, RoundTiesToEvenAndKeepNansAndInfinities) {
  const Rounded found =
      rounded({from_bits(0x3F808000), from_bits(0x3F818000), from_bits(0x3F808001), kInfinity,
               -kInfinity, kNan, from_bits(0x7F800001), from_bits(0xFFFFFFFF)});
  EXPECT_EQ(found.values[0].bits, 0x3F80);
  EXPECT_EQ(found.values[1].bits, 0x3F82);
  EXPECT_EQ(found.values[2].bits, 0x3F81);
  EXPECT_EQ(found.values[3].bits, 0x7F80);
  EXPECT_EQ(found.values[4].bits, 0xFF80);
  for (const int i : {5, 6, 7}) {
    EXPECT_TRUE(std::isnan(widened(found.values[static_cast<std::size_t>(i)]))) << i;
  }
}

TEST(Bfloat16Loops, WhatIsSentAndWhatIsKeptAreTheWhole) {
  CounterRandom random{5};
  std::vector<float> values(5000);
  std::vector<float> before(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random.normal());
    before[i] = 1e-3F * static_cast<float>(random.normal());
  }
  const Rounded found = rounded(values, before);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(widened(found.values[i]) + found.errors[i], values[i] + before[i]) << i;
  }
}

TEST(Bfloat16Loops, NothingIsKeptOfWhatIsNotFinite) {
  const float largest = std::numeric_limits<float>::max();  // rounds to infinity
  const Rounded found = rounded({kInfinity, -kInfinity, kNan, largest, 1});
  EXPECT_EQ(found.errors, std::vector<float>(5));
  std::vector<float> errors{1, 2, 3};
  const std::vector<float> sums{kInfinity, kNan, largest};
  std::vector<Bfloat16> result(3);
  round_and_add_error(result.data(), sums.data(), errors.data(), 3);
  EXPECT_EQ(errors, (std::vector<float>{1, 2, 3}));
}

TEST(Bfloat16Loops, TheErrorOfASumIsAdded) {
  const std::vector<float> sums{from_bits(0x3F800001), 2};
  std::vector<float> errors{1, 1};
  std::vector<Bfloat16> result(2);
  round_and_add_error(result.data(), sums.data(), errors.data(), 2);
  EXPECT_EQ(result[0].bits, 0x3F80);
  EXPECT_EQ(errors[0], 1 + (sums[0] - 1));
  EXPECT_EQ(errors[1], 1);
}

TEST(Bfloat16Loops, WidenAndAdd) {
  const std::vector<Bfloat16> values{{0x3F80}, {0xC000}};
  std::vector<float> sums(2);
  widen(sums.data(), values.data(), 2);
  EXPECT_EQ(sums, (std::vector<float>{1, -2}));
  add_widened(sums.data(), values.data(), 2);
  EXPECT_EQ(sums, (std::vector<float>{2, -4}));
}

}  // namespace
}  // namespace tandem::comm
