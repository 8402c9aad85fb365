// What: every tensor that a run continues from: weights, buffers, the optimizer's state.
// Owns: a snapshot owns copies, so that training may go on while they are written. Threads: one at
// a time. Throws: DataError from restore.
//
// Weights and buffers have their own names, so that a checkpoint is a model file too; an
// optimizer's array is "optimizer.<array>.<parameter>".
#pragma once

#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/state_dict.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

std::string optimizer_tensor_name(const std::string& array, const std::string& parameter);
bool is_optimizer_tensor(const std::string& name);

std::vector<model::NamedTensor> take_snapshot(const model::Network& network,
                                              const ParameterArena& arena, Optimizer& optimizer);

// Copies the tensors back: every one exactly once, of the right shape, or none.
void restore_snapshot(const std::vector<model::NamedTensor>& tensors, model::Network& network,
                      const ParameterArena& arena, Optimizer& optimizer);

// Collective. Rank 0's state on every rank.
void broadcast_state(comm::Communicator& comm, model::Network& network, ParameterArena& arena,
                     Optimizer& optimizer);

}  // namespace tandem::train
