// The options that a checkpoint holds, and their comparison with those of a later start.
#pragma once

#include <string>
#include <vector>

#include "run_start.hpp"
#include "tandem/core/json.hpp"

namespace tandem::app {

// The options that must equal those of the run's first start. `has_pictures`: whether the data set
// holds picture files; without them, options that affect only picture files are left out.
std::vector<OptionSpec> fixed_options(const Options& options, bool has_pictures = true);

// The values of these options as JSON, for the metadata of a checkpoint.
std::string options_to_save(const Options& options);
// Rank 0. Reads them back; null or discarded if the checkpoint has none that can be read.
Json saved_options(const RunStart& start);

// The value of an option at an earlier start, whose options `saved` holds. The version of that
// start may have written the option under an alias, or may not have had it.
std::string saved_value(const Json& saved, const OptionSpec& spec);

// Equal texts, or equal numbers such as "0.05" and "5e-2".
bool mean_the_same(const std::string& one, const std::string& other);

}  // namespace tandem::app
