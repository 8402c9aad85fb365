#include "tandem/metrics/system_sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "system_probe.hpp"

namespace tandem::metrics {
namespace {

TEST(SystemUsage, RatesAreOverTheTimeBetween) {
  SystemReading before;
  before.process.cpu_seconds = 10;
  before.process.context_switches = 100;
  before.process.read_bytes = 5000;
  before.cgroup.throttled_seconds = 1;
  SystemReading now = before;
  now.when = before.when + std::chrono::seconds(2);
  now.process.cpu_seconds = 13;
  now.process.context_switches = 150;
  now.process.read_bytes = 4000;
  now.process.rss_bytes = 1 << 20;
  now.cgroup.throttled_seconds = 1.5;
  now.gpu.busy_percent = 40;
  const auto values = usage_between(before, now).values;
  EXPECT_DOUBLE_EQ(values[kCpuPercent], 150);
  EXPECT_DOUBLE_EQ(values[kContextSwitches], 25);
  EXPECT_FALSE(SystemUsage::is_present(values[kReadBytes])) << "a counter went back";
  EXPECT_DOUBLE_EQ(values[kRssBytes], 1 << 20);
  EXPECT_DOUBLE_EQ(values[kThrottledPercent], 25);
  EXPECT_DOUBLE_EQ(values[kGpuPercent], 40);
  EXPECT_FALSE(SystemUsage::is_present(values[kGpuWatts]));
}

TEST(SystemSampler, AShortRunHasASampleToo) {
  SystemSampler sampler(1e9, "");
  const SystemUsage first = sampler.latest();
  EXPECT_EQ(first.samples, 1);
  EXPECT_GT(first.values[kRssBytes], 0);
  EXPECT_TRUE(SystemUsage::is_present(first.values[kCpuPercent]));
  EXPECT_FALSE(SystemUsage::is_present(first.values[kGpuPercent]));
  EXPECT_EQ(sampler.latest().samples, 1) << "the next one is not due for years";
}

TEST(SystemSampler, SamplesByItself) {
  SystemSampler sampler(0.001, "");
  while (sampler.latest().samples < 5) std::this_thread::yield();
}

TEST(SystemSampler, NeverIsNever) {
  SystemSampler sampler(0, "");
  const SystemUsage usage = sampler.latest();
  EXPECT_EQ(usage.samples, 0);
  EXPECT_TRUE(std::none_of(usage.values.begin(), usage.values.end(), SystemUsage::is_present));
}

}  // namespace
}  // namespace tandem::metrics
