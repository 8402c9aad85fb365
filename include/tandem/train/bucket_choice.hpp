// Measures which bucket size gives the shortest step with this network on these ranks. Throws what
// libtorch and the communicators throw.
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// The step to measure.
struct ProbeConfig {
  std::uint64_t images = 1;  // of each rank
  data::ImageShape shape;
  model::Precision precision = model::Precision::kFp32;
  bool channels_last = true;
};

// Collective. The bucket size in 2^20 bytes; 0: one bucket for all, also with one rank and if no
// other size is faster. Runs a few steps of forward, backward and exchange with each size, on
// noise. Weights, buffers and random numbers are restored, gradients are zero. Rank 0 decides by
// the slowest rank of each step, so all ranks get the same result, which may differ from run to
// run.
double measure_bucket_mb(comm::Communicator& world, comm::Collectives& collectives,
                         ParameterArena& arena, model::Network& network, const ProbeConfig& probe);

}  // namespace tandem::train
