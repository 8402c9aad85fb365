// Samples this process's use of its machine at a fixed interval, on a thread. Construct, query and
// destroy it on one thread. Without a thread there are no samples, and a warning says so.
//
// It is a thread because a step, an evaluation or a checkpoint may take long, and because a GPU's
// driver may take milliseconds to answer, or hang. It does not communicate: rank 0 gathers its
// values with the ranks' times.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "tandem/metrics/sink.hpp"
#include "tandem/metrics/system_usage.hpp"

namespace tandem::metrics {

struct SystemReading;

class SystemSampler {
 public:
  using Read = std::function<SystemReading()>;
  using OpenReader = std::function<Read()>;

  // `interval_seconds` 0: never, and there is no thread. `gpu_bus_id`: of the GPU that this process
  // computes on, as CUDA writes it; empty: none.
  SystemSampler(double interval_seconds, const std::string& gpu_bus_id, const Warn& warn);
  // `open` runs on the thread, which also uses and destroys its result. A thread that has not ended
  // within `patience` after the sampler's destruction is detached.
  SystemSampler(double interval_seconds, OpenReader open, std::chrono::milliseconds patience,
                const Warn& warn);
  ~SystemSampler();
  SystemSampler(const SystemSampler&) = delete;
  SystemSampler& operator=(const SystemSampler&) = delete;

  // The usage since the last call; without new samples the previous one. A run too short for a
  // sample takes its first here.
  SystemUsage take();

 private:
  struct Shared;

  const std::chrono::milliseconds patience_;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this; absent: never
  std::thread thread_;
};

// Why NVIDIA's management library cannot read the GPU with this PCI bus id (in CUDA's form); empty
// if it can. One thread at a time.
std::string why_gpu_is_silent(const std::string& pci_bus_id);

}  // namespace tandem::metrics
