#include "timeline.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tandem::report {
namespace {

// Lines at these times, a step each.
metrics::MetricLines lines_at(const std::vector<double>& times) {
  metrics::MetricLines lines;
  metrics::SampleSeries& loss = lines.events["step"].fields["loss"];
  double step = 0;
  for (const double time : times) loss.add({++step, NAN, 1, time}, 1);
  return lines;
}

TEST(Timeline, LeavesOutThePausesBetweenStopAndStart) {
  const Json manifest = Json::parse(R"({"segments": [{"started": 100, "first_step": 0},
      {"started": 1000, "first_step": 3}, {"started": 5000, "first_step": 5}]})");
  const Timeline timeline(manifest, lines_at({110, 120, 130, 1010, 1020, 5005}));
  EXPECT_EQ(timeline.worked(100), 0);
  EXPECT_EQ(timeline.worked(130), 30);
  ASSERT_EQ(timeline.starts().size(), 3U);
  EXPECT_EQ(timeline.starts()[1].worked, 30);
  EXPECT_EQ(timeline.starts()[1].first_step, 3);
  EXPECT_EQ(timeline.worked(1020), 50);
  EXPECT_EQ(timeline.worked(), 55);
}

TEST(Timeline, BeginsWithTheFirstLineIfTheManifestIsMissing) {
  EXPECT_EQ(Timeline(Json(), lines_at({50, 60, 75})).worked(), 25);
  EXPECT_TRUE(std::isnan(Timeline(Json(), lines_at({})).worked()));
  EXPECT_TRUE(std::isnan(Timeline(Json(), lines_at({NAN})).worked()));
}

TEST(Timeline, OfASegmentWithoutALineHasNoLength) {
  const Json manifest = Json::parse(R"({"segments": [{"started": 100, "first_step": 0},
      {"started": 200, "first_step": 0}, {"started": "x"}]})");
  const Timeline timeline(manifest, lines_at({210}));
  EXPECT_EQ(timeline.starts().size(), 2U);
  EXPECT_EQ(timeline.worked(), 10);
}

}  // namespace
}  // namespace tandem::report
