#include "tandem/metrics/system_sampler.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <future>
#include <thread>

#include "system_probe.hpp"
#include "tandem/core/clock.hpp"

namespace tandem::metrics {
namespace {

TEST(SystemUsage, RatesAreOverTheTimeBetween) {
  SystemReading before;
  before.process.cpu_seconds = 10;
  before.process.context_switches = 100;
  before.process.read_bytes = 5000;
  before.cgroup.cpu_periods = 100;
  before.cgroup.throttled_periods = 10;
  SystemReading now = before;
  now.when = before.when + std::chrono::seconds(2);
  now.process.cpu_seconds = 13;
  now.process.context_switches = 150;
  now.process.read_bytes = 4000;
  now.process.rss_bytes = 1 << 20;
  now.cgroup.cpu_periods = 120;
  now.cgroup.throttled_periods = 15;
  now.gpu.busy_percent = 40;
  const auto values = usage_between(before, now).values;
  EXPECT_DOUBLE_EQ(values[kCpuPercent], 150);
  EXPECT_DOUBLE_EQ(values[kContextSwitches], 25);
  EXPECT_FALSE(SystemUsage::is_present(values[kReadBytes])) << "a counter went back";
  EXPECT_DOUBLE_EQ(values[kRssBytes], 1 << 20);
  EXPECT_DOUBLE_EQ(values[kThrottledPercent], 25);
  EXPECT_DOUBLE_EQ(values[kGpuPercent], 40);
  EXPECT_FALSE(SystemUsage::is_present(values[kGpuWatts]));
  now.cgroup.cpu_periods = 100;
  now.cgroup.throttled_periods = 10;
  EXPECT_EQ(usage_between(before, now).values[kThrottledPercent], 0) << "nothing ran";
  now.cgroup.cpu_periods = 99;
  EXPECT_FALSE(SystemUsage::is_present(usage_between(before, now).values[kThrottledPercent]));
}

TEST(SystemUsage, OfTheHostIsOverAllOfItsCpus) {
  SystemReading before;
  before.host.busy_ticks = 1000;
  before.host.all_ticks = 5000;
  before.host.received_bytes = 100;
  before.host.sent_bytes = 100;
  SystemReading now = before;
  now.when = before.when + std::chrono::seconds(2);
  now.host.busy_ticks = 1300;
  now.host.all_ticks = 5400;
  now.host.cpus = 2;
  now.host.memory_bytes = 400;
  now.host.memory_total_bytes = 1000;
  now.host.received_bytes = 300;
  now.host.sent_bytes = 99;
  const auto values = usage_between(before, now).values;
  EXPECT_DOUBLE_EQ(values[kHostCpuPercent], 75) << "100 is all CPUs";
  EXPECT_EQ(values[kHostCpus], 2);
  EXPECT_EQ(values[kHostMemoryBytes], 400);
  EXPECT_EQ(values[kHostMemoryTotalBytes], 1000);
  EXPECT_DOUBLE_EQ(values[kHostReceivedBytes], 100);
  EXPECT_FALSE(SystemUsage::is_present(values[kHostSentBytes])) << "an interface is gone";
  now.host.all_ticks = before.host.all_ticks;
  EXPECT_FALSE(SystemUsage::is_present(usage_between(before, now).values[kHostCpuPercent]));
}

TEST(SystemSampler, AShortRunHasASampleToo) {
  SystemSampler sampler(1e9, "", nullptr);
  const SystemUsage first = sampler.take();
  EXPECT_EQ(first.samples, 1);
  EXPECT_GT(first.values[kRssBytes], 0);
  EXPECT_GT(first.values[kHostMemoryBytes], 0);
  EXPECT_TRUE(SystemUsage::is_present(first.values[kCpuPercent]));
  EXPECT_FALSE(SystemUsage::is_present(first.values[kGpuPercent]));
  EXPECT_EQ(sampler.take().samples, 1) << "the next one is not due for years";
}

TEST(SystemSampler, SamplesByItself) {
  SystemSampler sampler(0.001, "", nullptr);
  for (RunningTime time; sampler.take().samples < 5;) ASSERT_LT(time.seconds(), 10);
}

// A driver that hangs until it is let go.
struct HangingDriver {
  std::promise<void> let_go;
  std::promise<void> came_back;

  SystemSampler::OpenReader opener() {
    return [gate = let_go.get_future().share(), this] {
      gate.wait();
      came_back.set_value();
      return [] { return SystemReading(); };
    };
  }
};

TEST(SystemSampler, ADriverThatHangsHoldsNobodyUp) {
  HangingDriver driver;
  {
    SystemSampler sampler(0.001, driver.opener(), std::chrono::milliseconds(1), nullptr);
    EXPECT_EQ(sampler.take().samples, 0);
    EXPECT_EQ(sampler.take().samples, 0);
  }
  driver.let_go.set_value();  // what the thread shares with the sampler is still there
  driver.came_back.get_future().wait();
}

TEST(SystemSampler, WithoutAThreadThereAreNoSamples) {
  pthread_attr_t normal;
  pthread_attr_t impossible;
  ASSERT_EQ(pthread_getattr_default_np(&normal), 0);
  ASSERT_EQ(pthread_attr_init(&impossible), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&impossible, std::size_t{1} << 60), 0);
  ASSERT_EQ(pthread_setattr_default_np(&impossible), 0);
  std::string warning;
  {
    SystemSampler sampler(1, "", [&](const std::string& words) { warning = words; });
    EXPECT_EQ(pthread_setattr_default_np(&normal), 0);
    EXPECT_EQ(sampler.take().samples, 0);
  }
  EXPECT_NE(warning.find("--system-interval"), std::string::npos);
  pthread_attr_destroy(&impossible);
}

TEST(SystemSampler, NeverIsNever) {
  SystemSampler sampler(0, "", nullptr);
  const SystemUsage usage = sampler.take();
  EXPECT_EQ(usage.samples, 0);
  EXPECT_TRUE(std::none_of(usage.values.begin(), usage.values.end(), SystemUsage::is_present));
}

}  // namespace
}  // namespace tandem::metrics
