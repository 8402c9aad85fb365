#include "thin.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tandem/core/random.hpp"

namespace tandem::report {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
};

std::map<std::size_t, Range> ranges_of(const Points& points, const Columns& columns) {
  std::map<std::size_t, Range> ranges;
  for (const Point& point : points) {
    if (!std::isfinite(point.y)) continue;
    Range& range = ranges[columns.of(point.x)];
    range.low = std::min(range.low, point.y);
    range.high = std::max(range.high, point.y);
  }
  return ranges;
}

bool are_same(const Point& one, const Point& other) {
  return one.x == other.x && (one.y == other.y || (std::isnan(one.y) && std::isnan(other.y)));
}

// Peaks, gaps and places at random, some of them on top of each other.
Points random_points(std::uint64_t seed, std::size_t count) {
  CounterRandom random{seed, 1};
  Points points;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(random.below(100'000));
    const double y = random.below(20) == 0 ? NAN : static_cast<double>(random.below(1000)) - 300;
    points.push_back({x, random.below(200) == 0 ? y * 1e6 : y});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& one, const Point& other) { return one.x < other.x; });
  return points;
}

TEST(Thin, KeepsTheLowestAndHighestOfEachColumn) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Points points = random_points(seed, 1 + seed * seed);
    const Columns columns{0, 100'000, 1 + static_cast<std::size_t>(seed % 37)};
    const Points thinned = thin(points, columns);
    EXPECT_LE(thinned.size(), 2 * columns.count + 2) << seed;
    const auto before = ranges_of(points, columns);
    const auto after = ranges_of(thinned, columns);
    ASSERT_EQ(before.size(), after.size()) << seed;
    for (const auto& [column, range] : before) {
      EXPECT_EQ(range.low, after.at(column).low) << seed;
      EXPECT_EQ(range.high, after.at(column).high) << seed;
    }
    EXPECT_TRUE(are_same(thinned.front(), points.front())) << seed;
    EXPECT_TRUE(are_same(thinned.back(), points.back())) << seed;
    // In order, and none that was not there.
    auto from = points.begin();
    for (const Point& point : thinned) {
      from = std::find_if(from, points.end(),
                          [&](const Point& other) { return are_same(point, other); });
      ASSERT_NE(from, points.end()) << seed;
      ++from;
    }
  }
}

TEST(Thin, LeavesFewPointsAsTheyAre) {
  const Points points{{1, 5}, {2, NAN}, {3, 4}, {90, 7}};
  const Points thinned = thin(points, {0, 100, 100});
  ASSERT_EQ(thinned.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_TRUE(are_same(thinned[i], points[i])) << i;
  EXPECT_TRUE(thin({}, {0, 100, 100}).empty());
}

TEST(Thin, AGapStaysWhereAColumnHasNothingElse) {
  const Points thinned = thin({{1, 1}, {20, NAN}, {21, NAN}, {40, 2}, {41, NAN}}, {0, 50, 5});
  ASSERT_EQ(thinned.size(), 4U);
  EXPECT_TRUE(std::isnan(thinned[1].y));
  EXPECT_EQ(thinned[2].y, 2);
  EXPECT_TRUE(std::isnan(thinned[3].y)) << "the last of all";
}

TEST(Columns, HaveAPlaceForEverything) {
  const Columns columns{10, 20, 4};
  EXPECT_EQ(columns.of(10), 0U);
  EXPECT_EQ(columns.of(12.5), 1U);
  EXPECT_EQ(columns.of(20), 3U);
  EXPECT_EQ(columns.of(-1e300), 0U);
  EXPECT_EQ(columns.of(1e300), 3U);
  EXPECT_EQ((Columns{5, 5, 4}.of(5)), 0U) << "no extent at all";
}

TEST(PointsOf, AreInOrderAndWithinWhatCanBeDrawn) {
  metrics::MetricLines lines;
  metrics::SampleSeries& loss = lines.events["step"].fields["loss"];
  loss.add({3, 0.3, 1e300}, 1);
  loss.add({1, NAN, 1e-300}, 1);
  loss.add({2, 0.2, 5}, 1);
  loss.add({1e300, 1, 6}, 1);
  const Points points = points_of(lines.samples("step", "loss"), Axis::kStep);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].x, 1);
  EXPECT_EQ(points[0].y, 0);
  EXPECT_EQ(points[1].y, 5);
  EXPECT_FALSE(std::isfinite(points[2].y));
  EXPECT_EQ(points_of(lines.samples("step", "loss"), Axis::kEpoch).size(), 3U)
      << "one line has no epoch";
  EXPECT_TRUE(points_of(lines.samples("eval", "loss"), Axis::kStep).empty());
}

TEST(PointsOf, AreInTheOrderOfTheirAxis) {
  const std::vector<metrics::Sample> samples{{1, 0.5, 3, 200}, {2, 0.4, 4, 100}, {3, 0.6, 5}};
  EXPECT_EQ(points_of(samples, Axis::kEpoch).front().y, 4);
  const Points over_time = points_of(samples, Axis::kTime);
  ASSERT_EQ(over_time.size(), 2U) << "one line has no time";
  EXPECT_EQ(over_time[0].x, 100);
  EXPECT_EQ(over_time[1].y, 3);
}

TEST(WholeWindows, AreThoseOfTheUsualLength) {
  std::vector<metrics::Sample> samples;
  for (const double step : {10, 20, 30, 32, 42, 47, 48}) samples.push_back({step, NAN, step});
  std::vector<double> steps;
  for (const metrics::Sample& sample : of_whole_windows(samples)) steps.push_back(sample.step);
  EXPECT_EQ(steps, (std::vector<double>{10, 20, 30, 42, 47})) << "half of the usual 10 is enough";
  EXPECT_TRUE(of_whole_windows({}).empty());
}

TEST(Smooth, IsTheMeanAroundEachPointAndKeepsGaps) {
  const Points smoothed = smooth({{1, 3}, {2, 6}, {3, 9}, {4, NAN}, {5, 100}}, 3);
  ASSERT_EQ(smoothed.size(), 5U);
  EXPECT_EQ(smoothed[0].y, 4.5) << "of two at the end";
  EXPECT_EQ(smoothed[1].y, 6);
  EXPECT_EQ(smoothed[2].y, 7.5) << "a gap is no value";
  EXPECT_TRUE(std::isnan(smoothed[3].y));
  EXPECT_EQ(smoothed[4].y, 100);
  EXPECT_EQ(smooth({{1, 3}, {2, 6}}, 1)[0].y, 3) << "a window of one changes nothing";
}

TEST(Smooth, ASpikeChangesOnlyTheWindowsThatHoldIt) {
  Points points;
  for (int i = 0; i < 100; ++i) points.push_back({static_cast<double>(i), 0.5});
  points[10].y = 1e16;
  const Points smoothed = smooth(points, 5);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool holds_spike = i >= 8 && i <= 12;
    EXPECT_EQ(smoothed[i].y == 0.5, !holds_spike) << i;
  }
}

}  // namespace
}  // namespace tandem::report
