// The optimizer that a run asks for, and where its weights lie. Main thread. Throws AgreedError (2)
// for an option that the device does not have.
#pragma once

#include <cstdint>
#include <memory>

#include "session/job.hpp"
#include "tandem/model/network.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::app {

// Collective. Where the run asks for it, moves the weights to memory that the ranks of a host
// share; where they cannot share it, they keep their own, and a warning says so. Throws AgreedError
// (2) on GPUs. Call it before make_optimizer_of().
void share_weights(Job& job, const train::TrainConfig& config, train::ParameterArena& arena);

// 0: a parameter is trained to the end.
std::uint64_t early_steps_of(const train::TrainConfig& config,
                             const train::BatchArithmetic& arithmetic);

std::unique_ptr<train::Optimizer> make_optimizer_of(const train::TrainConfig& config,
                                                    const train::BatchArithmetic& arithmetic,
                                                    train::ParameterArena& arena,
                                                    const model::Network& network);

}  // namespace tandem::app
