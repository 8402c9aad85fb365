// Verifies that all ranks hold the same weights and optimizer state, bit for bit. Collective.
// Throws AgreedError (78) naming the first tensor that differs and, if most ranks agree, the ranks
// that do not; AgreedError (70) naming the first tensor that is not finite.
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/model/network.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/snapshot.hpp"

namespace tandem::train {

// Collective. Costs one hash of the state and two small all-reduces. Buffers are not compared,
// because only rank 0's count (train/replicate.hpp).
void require_equal_state(comm::Communicator& comm, ParameterArena& arena, Optimizer& optimizer);
void require_equal_state(comm::Communicator& comm, const ParameterArena& arena,
                         const HostState& state);

// Collective. Checks on rank 0 that no weight, optimizer value or buffer is infinite or NaN. The
// ranks' states must be equal; buffers are rank 0's.
void require_finite_state(comm::Communicator& comm, const model::Network& network,
                          ParameterArena& arena, Optimizer& optimizer);
void require_finite_state(comm::Communicator& comm, const ParameterArena& arena,
                          const HostState& state);

}  // namespace tandem::train
