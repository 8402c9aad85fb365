// Choices that a resumed run keeps from its earlier starts: values of its recipe, global batch,
// convolutions, order of images and type of Muon's products. Main thread.
#pragma once

#include <map>
#include <string>

#include "engine/compute_setup.hpp"
#include "run_inputs.hpp"
#include "session/job.hpp"

namespace tandem::app {

// Collective. Puts the kept values, or those that a new run starts with, into `run`, and prints
// those that replace others. Call it before the device is opened, because the device depends on
// them. The functions below and docs/reference.md, "Resuming a run", have the rules. Throws
// AgreedError with 2 if a kept value and an option of this start exclude each other.
void keep_choices(Job& job, const RunStart& start, RunRequest& run);

// Rank 0. A shipped recipe may change between versions. Returns the run's own values, by option
// name, that differ from the recipe: options that only the recipe gives, the global batch, and the
// duration if the schedule depends on it. --new-schedule requests the recipe's duration. If the
// recipe is now for another network, its values stay, and require_same_run() refuses them. That
// function also refuses an option that the recipe no longer has, or that had no value before.
std::map<std::string, std::string> recipe_values_to_keep(const RunStart& start, Options& options);

// A resumed run keeps its convolutions, unless the option is given (command line, environment,
// config file or recipe).
void keep_convolution(const RunStart& start, Options& options, train::TrainConfig& config);

// The metadata of a run's checkpoints (docs/formats.md). Later starts keep the choices in it, or
// compare theirs. A run whose checkpoint lacks the order of a set in several files shuffles the set
// as a whole, at any --read-lanes.
std::map<std::string, std::string> metadata_to_save(const RunRequest& run, const RunInputs& inputs,
                                                    const ComputeSetup& setup);

}  // namespace tandem::app
