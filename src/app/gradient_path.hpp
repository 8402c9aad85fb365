// What: the way of a run's gradients to all ranks, as devices, places and --grad-dtype have it.
// Module-private. Owns: what carries them; job, device carrier and arena must outlive it. Threads:
// as Collectives. Throws: AgreedError (2) where bfloat16 has no way.
#pragma once

#include <optional>
#include <string>

#include "host_sums.hpp"
#include "tandem/app/job.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/device_bf16_all_reduce.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::app {

class GradientPath {
 public:
  // Collective. `device`: what carries gradients between GPUs, or nullptr. Moves the arena's
  // gradients to memory that the ranks share where that is the way.
  GradientPath(Job& job, comm::Collectives* device, train::ParameterArena& arena,
               const train::TrainConfig& config);

  comm::Collectives& collectives();
  // After steps that were only made to measure them.
  void reset_error_feedback();
  // "flat", "two-level"
  std::string algorithm() const { return comm::sum_algorithm_name(algorithm_); }
  // ", summed as bfloat16 …", what a person should know of it; may be empty.
  std::string describe() const;

 private:
  bool as_bfloat16_ = false;
  const comm::SumAlgorithm algorithm_;
  comm::Collectives* const device_;
  std::optional<HostSums> host_sums_;
  std::optional<train::DeviceBf16AllReduce> device_sums_;
};

}  // namespace tandem::app
