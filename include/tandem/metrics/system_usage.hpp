// What: what one process asks of its machine and its GPU, over some time, as a row of numbers.
// Owns: values. Threads: any. Throws: nothing.
//
// Plain numbers in a fixed order, because ranks send them to rank 0 within a sum that they make
// anyway (train/rank_times.hpp).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace tandem::metrics {

// Gauges are those of the sample; rates are over the time since the sample before.
enum SystemValue : std::size_t {
  kCpuPercent,  // 100: one CPU
  kRssBytes,    // resident memory
  kThreads,
  kContextSwitches,   // a second, of all threads: given up by themselves
  kForcedSwitches,    // a second: taken away, so others wanted the CPU
  kReadBytes,         // a second, from storage
  kWriteBytes,        // a second, to storage
  kCgroupBytes,       // memory of the control group with the least limit, or of its own
  kCgroupLimitBytes,  // that limit; absent: none
  kThrottledPercent,  // of the time the CPU limit of a control group held the process back
  kGpuPercent,        // of the time the GPU was busy
  kGpuMemoryBytes,    // in use on the GPU, by all processes
  kGpuWatts,
  kGpuCelsius,
  kSystemValues,
};

struct SystemValueSpec {
  const char* name;  // in ranks/*.jsonl and TensorBoard
  bool is_whole;     // written without a fraction
};

constexpr std::array<SystemValueSpec, kSystemValues> kSystemValueSpecs = {{
    {"cpu_percent", false},
    {"rss_bytes", true},
    {"threads", true},
    {"context_switches_per_second", false},
    {"forced_switches_per_second", false},
    {"read_bytes_per_second", false},
    {"write_bytes_per_second", false},
    {"cgroup_memory_bytes", true},
    {"cgroup_memory_limit_bytes", true},
    {"throttled_percent", false},
    {"gpu_percent", false},
    {"gpu_memory_bytes", true},
    {"gpu_watts", false},
    {"gpu_celsius", false},
}};

struct SystemUsage {
  static constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

  double samples = 0;  // taken so far; 0: nothing is known. A value that is new has a new number.
  std::array<double, kSystemValues> values;

  SystemUsage() { values.fill(kAbsent); }
  static bool is_present(double value) { return std::isfinite(value); }
};

}  // namespace tandem::metrics
