// Verifies that all ranks hold the same weights and optimizer state, bit for bit. Collective.
// Throws AgreedError (78) naming the first tensor that differs and, if most ranks agree, the ranks
// that do not; AgreedError (70) naming the first tensor that is not finite.
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/snapshot.hpp"

namespace tandem::train {

// Collective. Costs one hash of the state and two small all-reduces. Buffers are not compared,
// because only rank 0's count (train/replicate.hpp). With the optimizer, includes
// require_no_foreign_write().
void require_equal_state(comm::Communicator& comm, ParameterArena& arena, Optimizer& optimizer);
void require_equal_state(comm::Communicator& comm, const ParameterArena& arena,
                         const HostState& state);

// Collective. Does nothing unless the ranks of a host share weights and state. Those are then
// compared with what the optimizer left there, since no other copy on the host shows a difference.
// Throws AgreedError (78) naming a tensor, the rank that updates it and its host.
void require_no_foreign_write(comm::Communicator& comm, Optimizer& optimizer);

// Collective. Checks on rank 0 that no weight, optimizer value or buffer is infinite or NaN. The
// ranks' states must be equal; buffers are rank 0's.
void require_finite_state(comm::Communicator& comm, const ParameterArena& arena,
                          const HostState& state);

}  // namespace tandem::train
