// What: samples what this process asks of its machine, every so many seconds, by a thread.
// Owns: the thread. Threads: make, ask and destroy it on one thread. Throws: std::system_error
// where there can be no thread.
//
// A thread and not the training loop, so that samples come as often as they are asked for however
// long a step, an evaluation or a checkpoint takes, and because a GPU's driver may take
// milliseconds to answer. It communicates with nobody: what it has last seen travels within a sum
// that the ranks make anyway.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tandem/metrics/system_usage.hpp"

namespace tandem::metrics {

class SystemProbe;
struct SystemReading;

class SystemSampler {
 public:
  // `interval_seconds` 0: never, and there is no thread. `gpu_bus_id`: of the GPU that this process
  // computes on, as CUDA writes it; empty: none.
  SystemSampler(double interval_seconds, const std::string& gpu_bus_id);
  ~SystemSampler();
  SystemSampler(const SystemSampler&) = delete;
  SystemSampler& operator=(const SystemSampler&) = delete;

  // The latest sample; a run that is too short for any takes its first here.
  SystemUsage latest();

 private:
  void run();
  void sample();

  const double interval_seconds_;
  std::unique_ptr<const SystemProbe> probe_;  // absent: never
  // Two, so that who asks for the latest does not wait for a driver; the first is locked first.
  std::mutex reading_mutex_;  // guards the probe and
  std::unique_ptr<SystemReading> last_reading_;
  std::mutex mutex_;  // guards all that follows
  SystemUsage usage_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;  // last
};

}  // namespace tandem::metrics
