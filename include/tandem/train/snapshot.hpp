// A copy of every tensor that a run resumes from: weights, buffers and optimizer state. Training
// may go on while the copy is written. One thread at a time. restore_snapshot() throws DataError.
//
// Weights and buffers keep their names, so a checkpoint is a model file too; an optimizer's array
// is "optimizer.<array>.<parameter>", or "optimizer.<array>" if it is not laid out as parameters.
// If the optimizer keeps averages of weights and buffers, the averages have the network's names,
// and the trained ones are arrays of the optimizer.
#pragma once

#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/state_dict.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/tensor_names.hpp"

namespace tandem::train {

// The state in the host's memory: a CPU's own tensors, or a copy of a GPU's.
struct HostState {
  // Weights first, without a name, then each array of the optimizer, in the arena's layout.
  std::vector<StateArray> arrays;
  std::vector<model::NamedTensor> buffers;
  std::vector<StateArray> unlike_parameters;  // the optimizer's
};
// Without buffers.
HostState arrays_on_host(const ParameterArena& arena, Optimizer& optimizer);
HostState state_on_host(const model::Network& network, const ParameterArena& arena,
                        Optimizer& optimizer);

// Of `state`, the current one with buffers, as it is: the caller has exchanged averages. A GPU's
// tensors are copies already and are not copied again.
std::vector<model::NamedTensor> take_snapshot(const model::Network& network,
                                              const ParameterArena& arena, const HostState& state);

// Copies the tensors back: every one exactly once, of the right shape, or none.
void restore_snapshot(const std::vector<model::NamedTensor>& tensors, model::Network& network,
                      const ParameterArena& arena, Optimizer& optimizer);

// Collective. Rank 0's state on every rank.
void broadcast_state(comm::Communicator& comm, model::Network& network, ParameterArena& arena,
                     Optimizer& optimizer);

}  // namespace tandem::train
