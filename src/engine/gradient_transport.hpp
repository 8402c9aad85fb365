// Builds the all-reduce of a run's gradients for its devices, hosts and --grad-dtype. Job, device
// collectives and arena must outlive it. Throws AgreedError (2) if the transport cannot add
// bfloat16, or cannot compress.
#pragma once

#include <memory>
#include <string>

#include "session/job.hpp"
#include "tandem/comm/allreduce/all_reduce.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/power_sgd.hpp"

namespace tandem::app {

// What gradients of GPUs may be asked for; throws UsageError otherwise. `between_gpus`: null for a
// rank alone.
void require_gpu_transport(comm::AllReduceAlgorithm algorithm, bool as_bf16,
                           const comm::Collectives* between_gpus);

class GradientTransport {
 public:
  // Collective. `device`: the collectives between GPUs, or null. Moves the arena's gradients to
  // shared memory if the transport uses it.
  GradientTransport(Job& job, comm::Collectives* device, train::ParameterArena& arena,
                    const train::TrainConfig& config);

  comm::Collectives& collectives() {
    if (power_sgd_) return *power_sgd_;
    return all_reduce_ ? *all_reduce_ : *device_;
  }
  // Null if gradients are not compressed.
  train::PowerSgdAllReduce* power_sgd() { return power_sgd_.get(); }
  // "flat", "two-level", "mpi"
  std::string algorithm() const { return comm::all_reduce_algorithm_name(algorithm_); }
  // ", sent as bfloat16: …", a note for the user; may be empty.
  std::string describe() const;

 private:
  bool as_bf16_ = false;
  const comm::AllReduceAlgorithm algorithm_;
  comm::Collectives* const device_;
  std::unique_ptr<comm::Collectives> all_reduce_;  // null: device_ is used
  std::unique_ptr<train::PowerSgdAllReduce> power_sgd_;
};

}  // namespace tandem::app
