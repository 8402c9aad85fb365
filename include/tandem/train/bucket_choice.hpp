// What: measures which size of gradient buckets makes a step shortest with this network on these
// ranks.
// Owns: nothing. Threads: one, the same on every rank. Throws: what libtorch and the communicators
// throw.
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/data/image_shape.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// A step to be measured with.
struct ProbeConfig {
  std::uint64_t images = 1;  // of each rank
  data::ImageShape shape;
  model::Precision precision = model::Precision::kFp32;
  bool channels_last = true;
};

// Collective. In 2^20 bytes, 0: one bucket for all, which also is the answer on one rank and where
// no other is faster. A few steps of forward, backward and exchange are run with each size, on
// noise; weights, buffers and random numbers are afterwards as before, gradients zero. Rank 0
// decides, by the slowest rank of each step, so it is the same on every rank; another time it may
// be another.
double measure_bucket_mb(comm::Communicator& world, comm::Collectives& collectives,
                         ParameterArena& arena, model::Network& network, const ProbeConfig& probe);

}  // namespace tandem::train
