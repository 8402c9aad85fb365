// What: where the metrics of a training run go: metrics.jsonl and ranks/*.jsonl, TensorBoard's
// file, the terminal. Module-private. Owns: nothing. Threads: the main thread, rank 0. Throws:
// CannotCreateError.
#pragma once

#include <functional>

#include "tandem/metrics/console.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/metrics/tensorboard.hpp"

namespace tandem::app {

// Of as many ranks as `console` has hosts.
metrics::Sinks make_sinks(const metrics::RunFolder& folder,
                          const metrics::TensorBoardSettings& board,
                          const std::function<metrics::TensorBoardStart()>& describe,
                          metrics::ConsoleSettings console);

}  // namespace tandem::app
