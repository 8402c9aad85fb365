#include "commands/pack_progress.hpp"

#include <gtest/gtest.h>

namespace tandem::app {
namespace {

TEST(PackProgress, ShowsTheTimeLeftAtTheRateSoFar) {
  EXPECT_EQ(describe_progress(1000, 5000, 2.5),
            "1,000 of 5,000 pictures packed, 400 pictures/s, 0:10 left");
  EXPECT_EQ(describe_progress(1'000, 1'281'167, 2),
            "1,000 of 1,281,167 pictures packed, 500 pictures/s, 42:40 left");
}

TEST(PackProgress, LinesOfALogBecomeRare) {
  double at = 10;
  int lines = 0;
  for (; at < 36'000; ++lines) at += seconds_to_next_line(at);
  EXPECT_GT(lines, 50);
  EXPECT_LT(lines, 150) << "in ten hours";
  EXPECT_EQ(seconds_to_next_line(20), 10);
  EXPECT_EQ(seconds_to_next_line(3600), 180);
}

}  // namespace
}  // namespace tandem::app
