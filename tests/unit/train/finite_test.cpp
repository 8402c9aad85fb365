#include "train/parameters/finite.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tandem::train {
namespace {

TEST(AllFinite, FindsInfinitiesAndNansAnywhere) {
  std::vector<float> values(1003, -3e38F);
  EXPECT_TRUE(all_finite(Span<float>(values)));
  EXPECT_TRUE(all_finite({values.data(), 0}));
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    for (const std::size_t place : {0U, 500U, 1002U}) {
      const float good = values[place];
      values[place] = bad;
      EXPECT_FALSE(all_finite(Span<float>(values))) << bad << " at " << place;
      values[place] = good;
    }
  }
}

TEST(SumOfSquares, CountsEveryValueOnceAndCannotOverflow) {
  std::vector<float> values(1003);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  EXPECT_EQ(sum_of_squares(Span<float>(values)), 1002.0 * 1003 * 2005 / 6);
  EXPECT_EQ(sum_of_squares({values.data(), 0}), 0);
  EXPECT_EQ(sum_of_squares({values.data(), 4}), 14);
  values.assign(values.size(), 3e38F);
  EXPECT_TRUE(std::isfinite(sum_of_squares(Span<float>(values))));
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    for (const std::size_t place : {0U, 500U, 1002U}) {
      values[place] = bad;
      EXPECT_FALSE(std::isfinite(sum_of_squares(Span<float>(values)))) << bad << " at " << place;
      values[place] = 0;
    }
  }
}

}  // namespace
}  // namespace tandem::train
