// The use of machine and GPU by one process over some time, as numbers in a fixed order. Rank 0
// gathers them with the ranks' times (train/rank_times.hpp).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace tandem::metrics {

// Over the samples since the last query.
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
  kThrottledPercent,  // of the periods of the control groups' least CPU limit it held them back
  kHostCpuPercent,    // 100: all CPUs of the host, by all processes
  kHostCpus,
  kHostMemoryBytes,       // in use, by all processes, without memory that the kernel can reclaim
  kHostMemoryTotalBytes,  // in use or not
  kHostReceivedBytes,     // a second, by the network; see read_host()
  kHostSentBytes,
  kGpuPercent,      // of the time the GPU was busy
  kGpuMemoryBytes,  // in use on the GPU, by all processes
  kGpuWatts,
  kGpuCelsius,
  kSystemValues,
};

// How several samples are combined.
enum class Over {
  kTime,     // a rate over all of their time
  kHighest,  // a short peak of memory ends a run as well as a long one
  kMean,
  kLast,
};

struct SystemValueSpec {
  const char* name;   // in ranks/*.jsonl and TensorBoard
  const char* title;  // on the page of a run
  bool is_whole;      // written without a fraction
  Over over;
};

constexpr std::array<SystemValueSpec, kSystemValues> kSystemValueSpecs = {{
    {"cpu_percent", "CPU", false, Over::kTime},
    {"rss_bytes", "Memory", true, Over::kHighest},
    {"threads", "Threads", true, Over::kHighest},
    {"context_switches_per_second", "CPU given up, times a second", false, Over::kTime},
    {"forced_switches_per_second", "CPU taken away, times a second", false, Over::kTime},
    {"read_bytes_per_second", "Read from storage, a second", false, Over::kTime},
    {"write_bytes_per_second", "Written to storage, a second", false, Over::kTime},
    {"cgroup_memory_bytes", "Memory of the control group", true, Over::kHighest},
    {"cgroup_memory_limit_bytes", "Limit of the control group's memory", true, Over::kLast},
    {"throttled_percent", "Held back by the CPU limit", false, Over::kTime},
    {"host_cpu_percent", "CPU of the host, by all programs", false, Over::kTime},
    {"host_cpus", "CPUs of the host", true, Over::kLast},
    {"host_memory_bytes", "Memory in use on the host, by all programs", true, Over::kHighest},
    {"host_memory_total_bytes", "Memory of the host", true, Over::kLast},
    {"host_network_received_bytes_per_second", "Received by the host's network, a second", false,
     Over::kTime},
    {"host_network_sent_bytes_per_second", "Sent by the host's network, a second", false,
     Over::kTime},
    {"gpu_percent", "GPU", false, Over::kMean},
    {"gpu_memory_bytes", "GPU memory", true, Over::kHighest},
    {"gpu_watts", "GPU power, W", false, Over::kMean},
    {"gpu_celsius", "GPU temperature, °C", false, Over::kMean},
}};

struct SystemUsage {
  static constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

  double samples = 0;  // taken so far; 0: nothing is known. A value that is new has a new number.
  std::array<double, kSystemValues> values;

  SystemUsage() { values.fill(kAbsent); }
  static bool is_present(double value) { return std::isfinite(value); }
};

}  // namespace tandem::metrics
