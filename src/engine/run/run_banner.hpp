// The lines that a training run prints before its first step. Main thread of rank 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "run_inputs.hpp"
#include "session/rank_table.hpp"

namespace tandem::app {

// The lines fit 80 columns unless a single word is longer.
struct Banner {
  const RunRequest& run;
  const RunInputs& inputs;
  const RankTable& ranks;
  std::string run_id;
  std::size_t parameters;  // trained ones
  std::string exchange;    // as TrainingSession describes it
  std::size_t frozen = 0;  // parameters that are not trained
  std::string taken = {};  // a sentence on the tensors taken from --init-from; or empty

  // Options as given, data set, network, batch arithmetic, ranks.
  std::string text() const;
};

// "TANDEM_LR=0.1 --data a.h5 --quiet": the options that differ from recipe, file and defaults, as
// they were given, each a part with its value.
std::vector<std::string> given_options(const Options& options, const Arguments& words);

// Whether --max-steps, not --epochs, ends the run.
bool ends_at_max_steps(const train::TrainConfig& config, const train::BatchArithmetic& arithmetic);

// "10 epochs, 3,910 steps"; "2 steps" where --max-steps ends the run first.
std::string describe_duration(const train::TrainConfig& config,
                              const train::BatchArithmetic& arithmetic);

// A warning if a run is too short for its --ema; otherwise "".
std::string describe_short_average(const train::TrainConfig& config,
                                   const train::BatchArithmetic& arithmetic);

// A warning if an epoch has fewer than three full steps; otherwise "".
std::string describe_few_steps(const train::TrainConfig& config,
                               const train::BatchArithmetic& arithmetic, std::uint64_t image_count,
                               int world);

// Gives these two warnings, on rank 0.
void warn_of_length(const Job& job, const train::TrainConfig& config, const RunInputs& inputs);

}  // namespace tandem::app
