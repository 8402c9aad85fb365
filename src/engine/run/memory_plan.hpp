// The memory of a training run: what its images and batches take, by formula, and the rest, which
// started ranks measure. Main thread. Throws UnavailableError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "session/job.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/json.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

// Bytes, by the formula of docs/reference.md.
struct DataMemory {
  std::uint64_t images = 0;         // of a host, that shares them
  std::uint64_t train_batches = 0;  // of a rank on a CPU, as floats
  std::uint64_t eval_batches = 0;   // likewise

  // `images`: what a host keeps of them, the whole set or a cache. `world`: ranks of the job.
  static DataMemory of(const train::TrainConfig& config, const data::DatasetInfo& info, int world,
                       std::uint64_t images);
};

// Bytes of weights, gradients and optimizer.
struct StateMemory {
  std::uint64_t of_rank = 0;
  std::uint64_t of_host = 0;  // with --share-weights
  // Of `of_rank`, gradients in shared memory.
  std::uint64_t shared_gradients = 0;
};
// What a network of so many parameters needs at least, before it is made.
StateMemory least_state(const train::TrainConfig& config, std::uint64_t parameters);

// Throws, naming parts, found, expected and options, if `ranks` ranks of a host need more than
// there is.
void require_memory(const DataMemory& data, const StateMemory& state, int ranks,
                    const MemoryRoom& room);

// What the fullest host and its ranks take, on rank 0. Bytes.
struct MemoryPlan {
  int ranks = 1;  // of that host
  DataMemory data;
  StateMemory state;
  std::uint64_t activations = 0;  // of a rank: what steps allocate
  std::uint64_t program = 0;      // of a rank
  std::uint64_t limit = 0;        // of the control group, or the host's memory; 0: not known
  bool is_of_group = false;

  std::uint64_t of_rank() const;
  std::uint64_t of_host() const;
  Json to_json() const;
  std::string to_text() const;
};

// Measures this process's own memory around the first steps.
class MemoryMeter {
 public:
  MemoryMeter();
  // Collective, after the steps.
  MemoryPlan finish(Job& job, const DataMemory& data, const StateMemory& state) const;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace tandem::app
