// The sinks of a training run: metrics.jsonl and ranks/*.jsonl, TensorBoard's file, the terminal.
// Main thread of rank 0. Throws CannotCreateError.
#pragma once

#include <functional>

#include "tandem/metrics/console.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/metrics/tensorboard.hpp"

namespace tandem::app {

// For as many ranks as `console` has hosts.
metrics::Sinks make_sinks(const metrics::RunFolder& folder,
                          const metrics::TensorBoardSettings& board,
                          const std::function<metrics::TensorBoardStart()>& describe,
                          metrics::ConsoleSettings console);

}  // namespace tandem::app
