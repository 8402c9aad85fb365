// Runs the trainer and records a failure in the run folder; exports the model of a completed run.
// Main thread. Throws what training throws; IoError and CannotCreateError if the model cannot be
// written.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/model/model_file.hpp"
#include "run_start.hpp"
#include "session/job.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/model/network.hpp"
#include "tandem/train/trainer.hpp"

namespace tandem::app {

// Collective. Calls `work` on rank 0; it opens `folder` and fills it. If `work` fails, every rank
// throws the same error, and an opened folder gets a summary of the failure. `before`: the result
// that a resumed run starts with.
void open_run(Job& job, const std::optional<metrics::RunFolder>& folder,
              const train::TrainResult& before, const std::function<void()>& work);

// Collective. Calls `begin`, which does the work before the first step and returns the seconds of
// the start-up. Then it trains. If either fails, it makes the metrics durable and then writes a
// summary of the failure, as far as the folder can still be written. `folder` and `sinks` are rank
// 0's. A rank that fails alone writes the summary itself.
train::TrainResult run_trainer(train::Trainer& trainer,
                               const std::optional<metrics::RunFolder>& folder,
                               const metrics::Sinks& sinks, Job& job, const RunStart& start,
                               const std::function<double()>& begin);

// How the training of a run ended.
struct RunOutcome {
  const std::optional<metrics::RunFolder>& folder;  // on rank 0
  train::TrainResult result;
  double startup_seconds;
  std::string lost;  // on rank 0 why the last state could not be saved, or ""
};

// Collective. Rank 0 writes the model in both forms; all ranks have the same weights. If that
// fails, it leaves a summary of the failure.
void export_model(Job& job, const RunOutcome& outcome, model::Network& network,
                  const ModelDescription& description);

// Rank 0: leaves the page and the summary of a run that is complete or was stopped. An error names
// the last state, if that could not be saved either.
void leave_outcome(const RunOutcome& outcome, const Json& summary);

// Rank 0: what `outcome.lost` means for the run.
std::string describe_lost(const RunOutcome& outcome);

}  // namespace tandem::app
