#include <gtest/gtest.h>

#include "system_probe.hpp"

namespace tandem::metrics {
namespace {

SystemReading reading_at(int seconds, double cpu_seconds, std::uint64_t rss, double watts) {
  SystemReading reading;
  reading.when += std::chrono::seconds(seconds);
  reading.process.cpu_seconds = cpu_seconds;
  reading.process.rss_bytes = rss;
  reading.gpu.watts = watts;
  return reading;
}

TEST(UsageWindow, TellsAllThatHappenedSinceItWasLastAsked) {
  UsageWindow window;
  EXPECT_EQ(window.take().samples, 0);
  window.add(reading_at(0, 0, 1, 1));
  EXPECT_FALSE(window.has_samples()) << "rates need two";
  window.add(reading_at(1, 4, 500, 100));
  window.add(reading_at(2, 4, 900, 400));
  window.add(reading_at(4, 6, 300, 100));
  const SystemUsage usage = window.take();
  EXPECT_EQ(usage.samples, 3);
  EXPECT_DOUBLE_EQ(usage.values[kCpuPercent], 150) << "6 s of CPU in 4 s";
  EXPECT_EQ(usage.values[kRssBytes], 900) << "the peak";
  EXPECT_EQ(usage.values[kGpuWatts], 200) << "the mean";
  EXPECT_FALSE(SystemUsage::is_present(usage.values[kGpuCelsius]));
}

TEST(UsageWindow, BeginsAnewAndRepeatsItselfMeanwhile) {
  UsageWindow window;
  window.add(reading_at(0, 0, 1, 1));
  window.add(reading_at(1, 1, 900, 400));
  EXPECT_EQ(window.take().values[kRssBytes], 900);
  const SystemUsage again = window.take();
  EXPECT_EQ(again.samples, 1);
  EXPECT_EQ(again.values[kRssBytes], 900) << "nothing new";
  SystemReading without_gpu = reading_at(3, 1.5, 300, 0);
  without_gpu.gpu.watts.reset();
  window.add(without_gpu);
  const SystemUsage next = window.take();
  EXPECT_EQ(next.samples, 2);
  EXPECT_DOUBLE_EQ(next.values[kCpuPercent], 25) << "since the last asking";
  EXPECT_EQ(next.values[kRssBytes], 300) << "the peak before was told before";
  EXPECT_FALSE(SystemUsage::is_present(next.values[kGpuWatts]));
}

}  // namespace
}  // namespace tandem::metrics
