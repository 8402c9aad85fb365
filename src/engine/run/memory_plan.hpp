// The memory of a training run: images and batches by formula, the rest measured by running ranks.
// Main thread. Throws UnavailableError.
#pragma once

#include <cstdint>
#include <string>

#include "session/job.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/json.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

// Bytes, by the formula of docs/reference.md.
struct DataMemory {
  std::uint64_t images = 0;         // of a host; its ranks share them
  std::uint64_t train_batches = 0;  // of a rank on a CPU, as floats
  std::uint64_t eval_batches = 0;   // likewise
  std::uint64_t cache = 0;          // of a rank, for picture files; if it is not part of `images`

  // `images`: bytes in memory of a host, for the whole set or a cache. `world`: ranks of the job.
  static DataMemory of(const train::TrainConfig& config, const data::DatasetInfo& info, int world,
                       std::uint64_t images);
};

// Bytes of weights, gradients and optimizer.
struct StateMemory {
  std::uint64_t of_rank = 0;
  std::uint64_t of_host = 0;  // with --share-weights
  // The part of `of_rank` that is gradients in shared memory.
  std::uint64_t shared_gradients = 0;
};
// The lowest need of a network with this number of parameters, before it is made.
StateMemory least_state(const train::TrainConfig& config, std::uint64_t parameters);

// Throws if `ranks` ranks of a host need more than `room`. The message names the parts, their sizes
// and their options.
void require_memory(const DataMemory& data, const StateMemory& state, int ranks,
                    const MemoryRoom& room);

// The memory of the host with the largest use, and of its ranks, on rank 0. Bytes.
struct MemoryPlan {
  int ranks = 1;  // of that host
  DataMemory data;
  StateMemory state;
  std::uint64_t activations = 0;  // of a rank: memory that steps allocate
  std::uint64_t program = 0;      // of a rank; 0: the measurement cannot tell it from activations
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
