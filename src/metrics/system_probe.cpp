#include "system_probe.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <optional>

#include "tandem/core/kernel_file.hpp"

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

// The share of the time of all CPUs. Ticks of CPUs that went offline make counters decrease.
double busy_share(const HostCounters& before, const HostCounters& now) {
  if (!before.busy_ticks || !now.busy_ticks || *now.busy_ticks < *before.busy_ticks ||
      *now.all_ticks <= *before.all_ticks) {
    return SystemUsage::kAbsent;
  }
  const auto busy = static_cast<double>(*now.busy_ticks - *before.busy_ticks);
  return std::min(1.0, busy / static_cast<double>(*now.all_ticks - *before.all_ticks));
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

SystemProbe::SystemProbe(const std::string& gpu_bus_id)
    : gpu_(gpu_bus_id.empty() ? nullptr : Nvml::open(gpu_bus_id)) {}

SystemReading SystemProbe::read() const {
  SystemReading reading;
  reading.when = std::chrono::steady_clock::now();
  reading.process = read_process();
  reading.cgroup = cgroup_.read();
  reading.host = read_host();
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
  values[kHostCpuPercent] = kPercent * busy_share(before.host, now.host);
  values[kHostCpus] = gauge(now.host.cpus);
  values[kHostMemoryBytes] = gauge(now.host.memory_bytes);
  values[kHostMemoryTotalBytes] = gauge(now.host.memory_total_bytes);
  values[kHostReceivedBytes] = rate(before.host.received_bytes, now.host.received_bytes, seconds);
  values[kHostSentBytes] = rate(before.host.sent_bytes, now.host.sent_bytes, seconds);
  values[kGpuPercent] = gauge(now.gpu.busy_percent);
  values[kGpuMemoryBytes] = gauge(now.gpu.memory_bytes);
  values[kGpuWatts] = gauge(now.gpu.watts);
  values[kGpuCelsius] = gauge(now.gpu.celsius);
  return usage;
}

ProcessCounters read_process(const std::string& proc) {
  ProcessCounters counters;
  if (const auto status = read_kernel_file(proc + "/status")) {
    counters.rss_bytes = field_of(*status, "VmRSS");
    counters.threads = field_of(*status, "Threads");
  }
  // Absent if another user owns the process or the system hides the file.
  if (const auto io = read_kernel_file(proc + "/io")) {
    counters.read_bytes = field_of(*io, "read_bytes");
    counters.write_bytes = field_of(*io, "write_bytes");
  }
  // /proc/PID/stat has the time in ticks of 10 ms, and the switches in status are those of the
  // first thread alone.
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    counters.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    counters.context_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
    counters.forced_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
  }
  return counters;
}

void UsageWindow::add(const SystemReading& reading) {
  if (!begin_) {
    begin_ = reading;
    return;
  }
  last_ = reading;
  ++samples_;
  const SystemUsage now = usage_between(*begin_, reading);
  for (std::size_t i = 0; i < kSystemValues; ++i) {
    const double value = now.values[i];
    double& sum = usage_.values[i];
    if (kSystemValueSpecs[i].over == Over::kTime) {
      sum = value;
      continue;
    }
    if (!SystemUsage::is_present(value)) continue;
    const bool is_first = counts_[i]++ == 0;
    switch (kSystemValueSpecs[i].over) {
      case Over::kHighest:
        sum = is_first ? value : std::max(sum, value);
        break;
      case Over::kMean:
        sum = is_first ? value : sum + value;
        break;
      case Over::kLast:
      case Over::kTime:
        sum = value;
    }
  }
}

SystemUsage UsageWindow::take() {
  if (!last_) return taken_;
  begin_ = last_;
  last_.reset();
  taken_ = usage_;
  taken_.samples = samples_;
  for (std::size_t i = 0; i < kSystemValues; ++i) {
    const bool is_mean = kSystemValueSpecs[i].over == Over::kMean && counts_[i] > 0;
    if (is_mean) taken_.values[i] /= counts_[i];
  }
  usage_ = {};
  counts_ = {};
  return taken_;
}

}  // namespace tandem::metrics
