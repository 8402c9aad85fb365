#include "system_probe.hpp"

#include <optional>

namespace tandem::metrics {
namespace {

constexpr double kPercent = 100;

template <typename Number>
double gauge(const std::optional<Number>& value) {
  return value ? static_cast<double>(*value) : SystemUsage::kAbsent;
}

// A counter that decreased (the process left its control group) has no meaning.
template <typename Number>
double rate(const std::optional<Number>& before, const std::optional<Number>& now, double seconds) {
  if (!before || !now || *now < *before || seconds <= 0) return SystemUsage::kAbsent;
  return static_cast<double>(*now - *before) / seconds;
}

// The share of throttled periods of a CPU limit; periods count only while something runs.
double throttled_share(const CgroupCounters& before, const CgroupCounters& now) {
  if (!before.cpu_periods || !now.cpu_periods || *now.cpu_periods < *before.cpu_periods ||
      *now.throttled_periods < *before.throttled_periods) {
    return SystemUsage::kAbsent;
  }
  const std::uint64_t periods = *now.cpu_periods - *before.cpu_periods;
  const std::uint64_t throttled = *now.throttled_periods - *before.throttled_periods;
  return periods == 0 ? 0 : static_cast<double>(throttled) / static_cast<double>(periods);
}

}  // namespace

SystemProbe::SystemProbe(const std::string& gpu_bus_id)
    : gpu_(gpu_bus_id.empty() ? nullptr : Nvml::open(gpu_bus_id)) {}

SystemReading SystemProbe::read() const {
  SystemReading reading;
  reading.when = std::chrono::steady_clock::now();
  reading.process = read_process();
  reading.cgroup = cgroup_.read();
  if (gpu_) reading.gpu = gpu_->read();
  return reading;
}

SystemUsage usage_between(const SystemReading& before, const SystemReading& now) {
  const double seconds = std::chrono::duration<double>(now.when - before.when).count();
  const ProcessCounters& then = before.process;
  const ProcessCounters& process = now.process;
  SystemUsage usage;
  auto& values = usage.values;
  values[kCpuPercent] = kPercent * rate(then.cpu_seconds, process.cpu_seconds, seconds);
  values[kRssBytes] = gauge(process.rss_bytes);
  values[kThreads] = gauge(process.threads);
  values[kContextSwitches] = rate(then.context_switches, process.context_switches, seconds);
  values[kForcedSwitches] = rate(then.forced_switches, process.forced_switches, seconds);
  values[kReadBytes] = rate(then.read_bytes, process.read_bytes, seconds);
  values[kWriteBytes] = rate(then.write_bytes, process.write_bytes, seconds);
  values[kCgroupBytes] = gauge(now.cgroup.memory_bytes);
  values[kCgroupLimitBytes] = gauge(now.cgroup.memory_limit_bytes);
  values[kThrottledPercent] = kPercent * throttled_share(before.cgroup, now.cgroup);
  values[kGpuPercent] = gauge(now.gpu.busy_percent);
  values[kGpuMemoryBytes] = gauge(now.gpu.memory_bytes);
  values[kGpuWatts] = gauge(now.gpu.watts);
  values[kGpuCelsius] = gauge(now.gpu.celsius);
  return usage;
}

}  // namespace tandem::metrics
