// Reads the counters of this process, its host and its GPU, and makes SystemUsage of two readings.
// One thread at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "nvml.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/metrics/host_counters.hpp"
#include "tandem/metrics/system_usage.hpp"

namespace tandem::metrics {

// Counters of all threads of this process, from /proc/self/status and io, and getrusage(). Values
// that the kernel does not report are absent. `proc` is its folder in /proc.
struct ProcessCounters {
  std::optional<double> cpu_seconds;
  std::optional<std::uint64_t> rss_bytes;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> write_bytes;
  std::optional<std::uint64_t> context_switches;
  std::optional<std::uint64_t> forced_switches;
};
ProcessCounters read_process(const std::string& proc = "/proc/self");

struct SystemReading {
  std::chrono::steady_clock::time_point when;
  ProcessCounters process;
  CgroupCounters cgroup;
  HostCounters host;
  GpuReading gpu;
};

class SystemProbe {
 public:
  // `gpu_bus_id` empty: the process uses no GPU.
  explicit SystemProbe(const std::string& gpu_bus_id);
  SystemReading read() const;

 private:
  const Cgroup cgroup_;
  const std::unique_ptr<Nvml> gpu_;
};

// Rates are over the time between the two; `samples` is left to the caller.
SystemUsage usage_between(const SystemReading& before, const SystemReading& now);

// Turns successive readings of a machine into usage since the last query: rates over that time, and
// maximum or mean of other values. One thread at a time.
class UsageWindow {
 public:
  // The first one is where rates begin, and no sample.
  void add(const SystemReading& reading);
  bool has_samples() const { return samples_ > 0; }
  // Without readings since the last call, the same values again.
  SystemUsage take();

 private:
  std::optional<SystemReading> begin_;  // of the time that rates are over
  std::optional<SystemReading> last_;   // absent: nothing new
  SystemUsage usage_;                   // means as sums
  std::array<double, kSystemValues> counts_{};
  double samples_ = 0;
  SystemUsage taken_;
};

}  // namespace tandem::metrics
