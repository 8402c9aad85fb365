#include "tandem/train/finite.hpp"

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

}  // namespace
}  // namespace tandem::train
