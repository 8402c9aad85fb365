// What: how a run begins: anew, from a checkpoint, or not at all because it is complete.
// Module-private. Owns: the run folder, on rank 0. Threads: the main thread. Throws: AgreedError
// with 2, 65, 66, 73 or 78 on every rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tandem/app/job.hpp"
#include "tandem/app/train_options.hpp"
#include "tandem/core/json.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/model/network.hpp"
#include "tandem/train/checkpoint_store.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/training_state.hpp"
#include "workers.hpp"

namespace tandem::app {

struct RunStart {
  // On every rank.
  std::string run_id;
  bool resumes = false;
  std::uint64_t global_batch = 0;     // of the checkpoint
  std::uint64_t optimizer_steps = 0;  // likewise
  std::optional<double> bucket_mb;    // likewise, where the checkpoint has one
  train::TrainingState state;         // totals and results on rank 0 alone

  // On rank 0.
  std::string runs_dir;
  std::optional<metrics::RunFolder> folder;  // an earlier run's, locked
  std::optional<train::Checkpoint> checkpoint;
  std::string checkpoint_path;
  std::string refused;  // newer checkpoints that were not taken, and why; may be empty
};

// Collective. By the rules of --resume (docs/reference.md): finds and proves the checkpoint to go
// on from, or that a new run can have its folder. Leaves nothing behind.
RunStart find_start(Job& job, const TrainReporting& reporting);

// Collective. Compares what the run was started with and what it is to go on with; all differences
// are named.
// `network_sha256`: of the file that --model names; empty where it names none.
void require_same_run(Job& job, const RunStart& start, const Options& options,
                      const std::string& data_digest, const std::string& network_sha256,
                      std::uint64_t global_batch);

// Collective. The checkpoint's weights, buffers and optimizer on every rank.
void restore_state(Job& job, const RunStart& start, model::Network& network,
                   train::ParameterArena& arena, train::Optimizer& optimizer);

// Collective. What the summary of a run says that has nothing left to do; nothing otherwise.
std::optional<Json> summary_if_complete(Job& job, const RunStart& start, std::uint64_t total_steps);

// What a checkpoint keeps of the options for that comparison, as JSON.
std::string options_to_keep(const Options& options);
// These again, on rank 0; null or discarded where the checkpoint has none that can be read.
Json kept_options(const RunStart& start);

// A run that goes on keeps its global batch, whatever the number of ranks would make of it.
void keep_global_batch(Job& job, const RunStart& start, train::TrainConfig& config);

// Rank 0: a new folder, or that of the run that goes on, without what will be done again.
metrics::RunFolder open_folder(RunStart& start);

// Rank 0: what a person should know of how the run begins.
void report_start(const RunStart& start, const metrics::RunFolder& folder,
                  std::uint64_t steps_per_epoch, const Workers& workers,
                  const metrics::Sinks& sinks, bool quiet);

}  // namespace tandem::app
