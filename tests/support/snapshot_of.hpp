// The tensors of a checkpoint, taken as Checkpointer takes them.
#pragma once

#include <vector>

#include "tandem/train/snapshot.hpp"

namespace tandem::testing {

inline std::vector<model::NamedTensor> snapshot_of(const model::Network& network,
                                                   const train::ParameterArena& arena,
                                                   train::Optimizer& optimizer) {
  optimizer.swap_average();
  auto tensors =
      train::take_snapshot(network, arena, train::state_on_host(network, arena, optimizer));
  optimizer.swap_average();
  return tensors;
}

}  // namespace tandem::testing
