// Checks what a resumed run must share with its checkpoint, options, data and network, and that it
// makes progress. Main thread. Throws AgreedError on every rank.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run_start.hpp"
#include "session/job.hpp"
#include "tandem/core/json.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::app {

// Collective. Compares the run's first start with this one and names all differences (78).
// `info`: of the data set of this start. `network_sha256`: of the file that --model names; empty if
// it names none. Options of picture files may differ where the set has pixels.
void require_same_run(Job& job, const RunStart& start, const Options& options,
                      const data::DatasetInfo& info, const std::string& network_sha256,
                      std::uint64_t global_batch);

// Rank 0's part: the differences.
std::vector<std::string> differences_from(const RunStart& start, const Options& options,
                                          const data::DatasetInfo& info,
                                          const std::string& network_sha256,
                                          std::uint64_t global_batch);

// The options that a checkpoint keeps for that comparison, as JSON.
std::string options_to_keep(const Options& options);
// Reads them back on rank 0; null or discarded if the checkpoint has none that can be read.
Json saved_options(const RunStart& start);

// The value of an option in `kept`, an object of the options of an earlier start, whose version may
// have written it under an alias, or not known it.
std::string saved_value(const Json& kept, const OptionSpec& spec);

// Collective. Throws AgreedError with 70 if the last `most` starts all began at the step of this
// start; 0: never. This ends a job that a batch system or jobs/supervise.sh would start again and
// again without a new checkpoint.
void require_progress(Job& job, const RunStart& start, std::uint64_t most);

// Collective. A shipped recipe may change between versions. A resumed run keeps its own values of
// options that only the recipe gives, and its duration if the schedule depends on that.
// --new-schedule requests the recipe's duration. The values of a recipe for another network stay,
// and require_same_run() refuses them. It also refuses an option that the recipe no longer has, or
// that had no value before.
void keep_recipe(Job& job, const RunStart& start, Options& options, train::TrainConfig& config);

// Rank 0's part: these values by option name, where the recipe has others.
std::map<std::string, std::string> recipe_values_to_keep(const RunStart& start, Options& options);

// A resumed run keeps its global batch for any number of ranks.
void keep_global_batch(Job& job, const RunStart& start, train::TrainConfig& config);

// A resumed run keeps its convolutions, unless the option is given (command line, environment,
// config file or recipe).
void keep_convolution(const RunStart& start, Options& options, train::TrainConfig& config);

// Metadata of a checkpoint about the order of images of a set in several files; empty for one file.
// Without it, a resumed run shuffles such a set as a whole, at any --read-lanes.
std::map<std::string, std::string> order_to_keep(const data::DatasetInfo& info, bool has_lanes);

// Collective. A run of a version without lanes continues to shuffle its set as a whole, unless the
// option is given. Then require_same_run() refuses another value. A run of a version without
// lanes for sets in several files continues to shuffle such a set as a whole.
void keep_lanes(Job& job, const RunStart& start, Options& options, train::TrainConfig& config);

// Collective. Calls keep_recipe(), which reads all options again, then keep_global_batch(),
// keep_convolution() and keep_lanes().
void keep_choices(Job& job, const RunStart& start, Options& options, train::TrainConfig& config);

}  // namespace tandem::app
