// The lines that a training run prints at its end. Main thread of rank 0.
#pragma once

#include <cstdint>
#include <string>

#include "session/engine.hpp"
#include "tandem/core/json.hpp"
#include "tandem/metrics/console.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/training_state.hpp"

namespace tandem::app {

struct Closing {
  const train::TrainConfig& config;
  const train::BatchArithmetic& arithmetic;
  std::uint64_t image_count;  // of an epoch
  const train::TrainResult& result;
  const metrics::BestEvaluation& best;
  std::string folder;
  std::string model;    // paths; empty: not written
  std::string report;   // likewise
  std::string command;  // evaluates a complete run, resumes a stopped one

  // Counts of steps and images; accuracies; paths of the results; the command.
  std::string text() const;
  // "3,910 steps, every image exactly once in each of 10 epochs"; the trainer has checked it.
  std::string accounting() const;
};

// A warning if the start took --max-time less --stop-margin, or longer; otherwise "".
std::string describe_late_start(const RunRequest& run, double startup_seconds);

// "mpirun -np 2 tandem eval --data a.h5 --checkpoint runs/first"; `program`: as program_words()
// gives it.
std::string eval_command(const std::string& program, const std::string& data,
                         const std::string& folder);

// The message of --resume auto for a run with no steps left. `schedule_steps` is the length of its
// schedule: where the rate has come to 0, only a new schedule goes on.
std::string describe_complete(const std::string& folder, const Json& summary,
                              const train::TrainConfig& config,
                              const train::BatchArithmetic& arithmetic,
                              std::uint64_t schedule_steps);

// The best evaluation that an earlier start of the run left in metrics.jsonl.
metrics::BestEvaluation best_of(const metrics::RunFolder& folder);

}  // namespace tandem::app
