// Copies weights and buffers from rank 0 to all ranks. One thread at a time. Throws what the
// communicator throws.
#pragma once

#include <memory>

#include "tandem/comm/communicator.hpp"
#include "tandem/model/batch_exchange.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// Collective. Rank 0's elements, through the host's memory; the tensor is dense.
void broadcast_tensor(comm::Communicator& comm, const torch::Tensor& tensor);

// Collective. The same for an array of weights or state with the arena's layout, which the ranks of
// a host may share.
void broadcast_array(comm::Communicator& comm, const ParameterArena& arena,
                     const torch::Tensor& array);

// Collective. Rank 0's parameters and buffers reach every rank.
void broadcast_weights(comm::Communicator& comm, ParameterArena& arena, torch::nn::Module& network);

// Collective. Rank 0's buffers (BatchNorm's statistics) are the model's: training never reads them,
// so they travel before every evaluation, digest and export, at no other time, and are never
// averaged.
void broadcast_buffers(comm::Communicator& comm, torch::nn::Module& network);

// From now on all batch normalizations of the network use the statistics of all ranks, which they
// exchange while it trains. Null if it has none. `world` must outlive the network's training.
std::shared_ptr<const model::BatchExchange> synchronize_norms(comm::Communicator& world,
                                                              model::Network& network);

}  // namespace tandem::train
