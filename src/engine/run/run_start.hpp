// How a run starts: as a new run, from a checkpoint, or not at all because it is complete. Holds
// the run folder on rank 0. Main thread. Throws AgreedError on every rank with 2, 65, 66, 73 or 74,
// or 75 if it is stopped while it waits for a lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/train_options.hpp"
#include "session/engine.hpp"
#include "tandem/core/json.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/model/convolution_choice.hpp"
#include "tandem/model/network.hpp"
#include "tandem/train/checkpoint_store.hpp"
#include "tandem/train/training_state.hpp"

namespace tandem::app {

struct RunStart {
  // On every rank.
  std::string run_id;
  std::string runs_dir;
  bool resumes = false;
  std::uint64_t global_batch = 0;     // of the checkpoint
  std::uint64_t optimizer_steps = 0;  // likewise
  std::optional<double> bucket_mb;    // likewise, if the checkpoint has one
  // Likewise; kDirect if the checkpoint has none.
  model::ConvolutionChoice convolution = model::ConvolutionChoice::kDirect;
  train::TrainingState state;  // on rank 0; elsewhere only counts and the loss scale

  // The last step: of all, or that at which early stopping has ended the run.
  std::uint64_t end(const train::TrainConfig& config, std::uint64_t total_steps) const {
    const bool has_ended = resumes && state.ends_early(config.early_stop);
    return has_ended && state.step < total_steps ? state.step : total_steps;
  }

  // The folder of the run.
  std::string path() const { return runs_dir + "/" + run_id; }

  // On rank 0.
  metrics::LockSettings lock;
  Touch touch;                               // while files are read and copied
  std::optional<metrics::RunFolder> folder;  // an earlier run's, locked
  std::optional<train::Checkpoint> checkpoint;
  std::string checkpoint_path;
  std::string refused;  // newer checkpoints that were not taken, and why; may be empty
  std::optional<std::uint64_t> schedule_steps;  // of the checkpoint, if it has them
  bool is_auto = false;                         // --resume auto
  std::optional<std::uint64_t> killed_after;    // the last step that a killed run logged
  std::optional<std::string> similar_run;       // if --resume auto found no folder

  // On rank 0. An entry of the checkpoint's metadata; "" if it has none, as in earlier versions.
  std::string entry(const std::string& name) const {
    const auto found = checkpoint->metadata.find(name);
    return found == checkpoint->metadata.end() ? "" : found->second;
  }
};

// Collective. By the rules of --resume (docs/reference.md): finds and verifies the checkpoint to
// resume from, or checks that a new run can have its folder. Writes nothing. `touch` is called on
// rank 0 while it reads or watches the lock of another run. Tells the watchdog the command that
// resumes the run.
RunStart find_start(Job& job, const RunRequest& run, const Touch& touch);
// Rank 0's part; the part of its result that every rank needs, as JSON; and reading that back.
RunStart find_start_alone(const TrainReporting& reporting, metrics::LockSettings lock = {},
                          const Touch& touch = {});
Json shared_part(const RunStart& start);
void take_shared_part(const Json& shared, RunStart& start);

// Collective. What the summary of a run says that has nothing left to do; nothing otherwise.
std::optional<Json> summary_if_complete(Job& job, const RunStart& start, std::uint64_t total_steps);
// Rank 0's part: that summary or null.
Json complete_summary(const RunStart& start, std::uint64_t total_steps);

// Collective. For a run that has done all steps but is not complete: makes its last evaluation due
// again if any result is missing. That is so if the run was killed before it wrote them, was
// shortened, or now asks for test-time augmentation (`views`).
void owe_last_evaluation(Job& job, RunStart& start, const train::TrainConfig& config,
                         std::uint64_t total_steps, bool views);

// Rank 0: creates the folder of a new run, or opens that of a resumed run and moves all later
// results to checkpoints/superseded-N. If the process is killed at any moment, the call can be
// repeated and nothing is lost.
metrics::RunFolder open_folder(RunStart& start);

}  // namespace tandem::app
