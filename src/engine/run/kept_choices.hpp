// What a resumed run keeps of its earlier starts without being asked: values of its recipe, global
// batch, convolutions and order of images. Main thread.
#pragma once

#include <map>
#include <string>

#include "run_start.hpp"
#include "session/engine.hpp"
#include "session/job.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::app {

// Collective. Puts the run's own values into `run`, and prints those that replace others. Call it
// before anything is made of the request, the device included. The rules are those of the functions
// below and of docs/reference.md, "Resuming a run". Throws AgreedError with 2 where a kept value
// and an option of this start exclude each other.
void keep_choices(Job& job, const RunStart& start, RunRequest& run);

// Rank 0. The run's values by option name, where a shipped recipe has others, which may change
// between versions: of options that only the recipe gives, of the global batch, and of the duration
// if the schedule depends on that. --new-schedule requests the recipe's duration. The values of a
// recipe for another network stay, and require_same_run() refuses them. It also refuses an option
// that the recipe no longer has, or that had no value before.
std::map<std::string, std::string> recipe_values_to_keep(const RunStart& start, Options& options);

// A resumed run keeps its convolutions, unless the option is given (command line, environment,
// config file or recipe).
void keep_convolution(const RunStart& start, Options& options, train::TrainConfig& config);

// The metadata of a checkpoint that later starts keep or compare: the fixed options and, of a set
// in several files, the order of its images. A run without that order shuffles such a set as a
// whole, at any --read-lanes.
std::map<std::string, std::string> choices_to_save(const Options& options,
                                                   const data::DatasetInfo& info, bool has_lanes);

}  // namespace tandem::app
