// What: training itself, and what is left of it where it fails; the model of a run that is
// complete. Module-private. Owns: nothing. Threads: the main thread. Throws: what training throws;
// IoError and CannotCreateError where the model cannot be written.
#pragma once

#include <optional>
#include <string>

#include "tandem/app/job.hpp"
#include "tandem/app/model_file.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/model/network.hpp"
#include "tandem/train/trainer.hpp"

namespace tandem::app {

// Collective. A run that fails says so in its folder, where that can still be written, after its
// metrics are durable; `folder` and `sinks` are rank 0's.
train::TrainResult run_trainer(train::Trainer& trainer,
                               const std::optional<metrics::RunFolder>& folder,
                               const metrics::Sinks& sinks, Job& job, double startup_seconds);

// Collective. Rank 0 writes the model in both forms; the weights are everywhere the same. `lost`:
// on rank 0 why the last checkpoint could not be written, or nothing.
void export_model(Job& job, const std::optional<metrics::RunFolder>& folder,
                  model::Network& network, const ModelDescription& description,
                  const std::string& lost);

}  // namespace tandem::app
