#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tandem/metrics/metric_lines.hpp"

namespace tandem::metrics {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A slow wave over `count` lines, one each `every` steps, with a single high one and a single low.
SampleSeries wave(int count, int every) {
  SampleSeries series;
  for (int line = 1; line <= count; ++line) {
    double value = std::sin(line / 5000.0);
    if (line == count / 3) value = 50;
    if (line == count / 2) value = -50;
    series.add({static_cast<double>(line) * every, line / 100.0, value}, every);
  }
  return series;
}

TEST(SampleSeries, KeepsAllWhileThereIsRoom) {
  const SampleSeries series = wave(static_cast<int>(SampleSeries::kMax), 1);
  EXPECT_EQ(series.samples().size(), SampleSeries::kMax);
}

TEST(SampleSeries, KeepsASingleSpikeOfAnyNumberOfLines) {
  for (const int count : {40'000, 100'000, 1'000'000}) {
    for (const int every : {1, 50}) {
      const auto kept = wave(count, every).samples();
      EXPECT_LE(kept.size(), SampleSeries::kMax) << count;
      const auto is_lower = [](const Sample& one, const Sample& other) {
        return one.value < other.value;
      };
      const auto [low, high] = std::minmax_element(kept.begin(), kept.end(), is_lower);
      EXPECT_EQ(low->value, -50) << count;
      EXPECT_EQ(low->step, count / 2 * every) << count;
      EXPECT_EQ(high->value, 50) << count;
      EXPECT_EQ(high->step, count / 3 * every) << count;
      EXPECT_EQ(kept.front().step, every) << count;
      EXPECT_EQ(kept.back().step, count * every) << count;
    }
  }
}

TEST(SampleSeries, IsAsFineAtTheBeginAsAtTheEnd) {
  constexpr int kLines = 1'000'000;
  constexpr int kParts = 100;
  std::vector<int> of_part(kParts);
  const SampleSeries series = wave(kLines, 1);
  for (const Sample& sample : series.samples()) {
    ++of_part.at(static_cast<std::size_t>((sample.step - 1) / (kLines / kParts)));
  }
  // What came last may not have been thinned yet as far as the rest: in four parts of 100 at most.
  std::sort(of_part.begin(), of_part.end());
  EXPECT_GE(of_part.front(), 50);
  EXPECT_LE(of_part[kParts - 5], 4 * of_part.front());
}

TEST(SampleSeries, SumsWhatItHasThinnedOut) {
  SampleSeries series;
  constexpr int kLines = 200'000;
  for (int line = 1; line <= kLines; ++line) {
    series.add({static_cast<double>(line), kNone, line % 2 == 0 ? 3.0 : 1.0},
               line % 2 == 0 ? 3.0 : 1.0);
    if (line % 1000 == 0) series.add({static_cast<double>(line), kNone, kNone}, 1);
  }
  EXPECT_EQ(series.mean(), 2);
  EXPECT_EQ(series.mean_per_step(), 2.5);
  EXPECT_EQ(series.sum(), 2 * kLines);
  EXPECT_EQ(series.highest(), 3);
}

TEST(SampleSeries, OfNoFiniteValueHasNoMean) {
  SampleSeries series;
  EXPECT_TRUE(std::isnan(series.mean()));
  for (std::size_t line = 0; line < 2 * SampleSeries::kMax; ++line)
    series.add({1e300, 0, kNone}, 1);
  EXPECT_TRUE(std::isnan(series.mean_per_step()));
  EXPECT_TRUE(std::isnan(series.highest()));
  EXPECT_LE(series.samples().size(), SampleSeries::kMax) << "all of them at one step";
  EXPECT_EQ(series.sum(), 0);
}

}  // namespace
}  // namespace tandem::metrics
