// What: samples what this process asks of its machine, every so many seconds, by a thread.
// Owns: the thread. Threads: make, ask and destroy it on one thread. Throws: nothing; where there
// can be no thread there are no samples, and a warning says so.
//
// A thread and not the training loop, so that samples come as often as they are asked for however
// long a step, an evaluation or a checkpoint takes, and because a GPU's driver may take
// milliseconds to answer, or never do. It communicates with nobody: what it has seen travels within
// a sum that the ranks make anyway.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "tandem/metrics/system_usage.hpp"

namespace tandem::metrics {

struct SystemReading;

class SystemSampler {
 public:
  using Read = std::function<SystemReading()>;
  using OpenReader = std::function<Read()>;

  // `interval_seconds` 0: never, and there is no thread. `gpu_bus_id`: of the GPU that this process
  // computes on, as CUDA writes it; empty: none.
  SystemSampler(double interval_seconds, const std::string& gpu_bus_id);
  // `open`, what it returns and its end are the thread's. One that has not ended within `patience`
  // after the sampler has is left to itself.
  SystemSampler(double interval_seconds, OpenReader open, std::chrono::milliseconds patience);
  ~SystemSampler();
  SystemSampler(const SystemSampler&) = delete;
  SystemSampler& operator=(const SystemSampler&) = delete;

  // What the samples since the last call came to; where there is none, the same again. A run that
  // is too short for any takes its first here.
  SystemUsage take();

 private:
  struct Shared;

  const std::chrono::milliseconds patience_;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this; absent: never
  std::thread thread_;
};

}  // namespace tandem::metrics
