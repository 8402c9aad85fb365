// The description of a run for TensorBoard before its first step: hyper-parameters, options, ranks
// and a few images. Main thread of rank 0. Throws InternalError.
#pragma once

#include <string>

#include "cli/options.hpp"
#include "session/job.hpp"
#include "tandem/metrics/tensorboard.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/image_store.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::app {

metrics::TensorBoardStart describe_for_tensorboard(const Options& options,
                                                   const std::string& command_line,
                                                   const train::ImageStore& images,
                                                   const train::BatchArithmetic& arithmetic,
                                                   const RankTable& ranks);

// Shows the weights in `arena`, which must outlive it, by name.
metrics::VisitWeights visit_weights_of(const train::ParameterArena& arena);

}  // namespace tandem::app
