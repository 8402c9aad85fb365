#include "train/evaluation/average_precision.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/golden.hpp"

namespace tandem::train {
namespace {

// tests/golden/make_multi_label_fixtures.py
TEST(AveragePrecision, FollowsItsDefinitionAlsoForEqualScores) {
  const Json fixtures = testing::read_golden("multi_label.json");
  ASSERT_EQ(fixtures["precisions"].size(), 7U);
  for (const Json& one : fixtures["precisions"]) {
    std::vector<ScoredTarget> images;
    for (std::size_t i = 0; i < one["scores"].size(); ++i) {
      images.push_back({one["scores"][i].get<float>(), one["targets"][i] == 1});
    }
    const double found = average_precision(images);
    std::reverse(images.begin(), images.end());
    if (one["expected"].is_null()) {
      EXPECT_TRUE(std::isnan(found));
      continue;
    }
    EXPECT_NEAR(found, one["expected"].get<double>(), 1e-12) << one;
    EXPECT_EQ(average_precision(images), found) << "the order of images has no effect";
  }
}

TEST(AveragePrecision, PutsNanLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(average_precision({{nan, false}, {-5, true}, {nan, false}}), 1);
  EXPECT_DOUBLE_EQ(average_precision({{nan, true}, {-5, false}, {nan, false}}), 1.0 / 3);
}

TEST(MeanAveragePrecision, LeavesOutClassesWithoutPositives) {
  const double nan = std::nan("");
  EXPECT_DOUBLE_EQ(mean_average_precision({0.25, nan, 0.75}), 0.5);
  EXPECT_EQ(mean_average_precision({nan, nan}), 0);
}

}  // namespace
}  // namespace tandem::train
