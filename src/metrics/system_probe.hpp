// Reads the counters of this process and its GPU, and makes SystemUsage of two readings. One thread
// at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "nvml.hpp"
#include "proc_files.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/metrics/system_usage.hpp"

namespace tandem::metrics {

struct SystemReading {
  std::chrono::steady_clock::time_point when;
  ProcessCounters process;
  CgroupCounters cgroup;
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

}  // namespace tandem::metrics
