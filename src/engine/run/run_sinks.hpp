// The sinks of a training run: metrics.jsonl and ranks/*.jsonl, TensorBoard's file, the terminal.
// Main thread of rank 0. Throws CannotCreateError, InternalError.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/options.hpp"
#include "session/rank_table.hpp"
#include "tandem/metrics/console.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/metrics/tensorboard.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/image_store.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::app {

// What TensorBoard shows before the first step: hyper-parameters, options, ranks and a few images.
metrics::TensorBoardStart describe_for_tensorboard(const Options& options,
                                                   const std::string& command_line,
                                                   const train::ImageStore& images,
                                                   const train::BatchArithmetic& arithmetic,
                                                   const RankTable& ranks);

// Shows the weights in `arena`, which must outlive it, by name.
metrics::VisitWeights visit_weights_of(const train::ParameterArena& arena);

// Sets the totals of the console's counts. `image_count`: of an epoch.
void show_totals(const train::TrainConfig& config, const train::BatchArithmetic& arithmetic,
                 std::uint64_t image_count, metrics::ConsoleSettings& console);

// For as many ranks as `console` has hosts.
metrics::Sinks make_sinks(const metrics::RunFolder& folder,
                          const metrics::TensorBoardSettings& board,
                          const std::function<metrics::TensorBoardStart()>& describe,
                          metrics::ConsoleSettings console);

}  // namespace tandem::app
