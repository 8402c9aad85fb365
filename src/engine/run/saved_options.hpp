// The options that a checkpoint holds, and their comparison with those of a later start.
#pragma once

#include <string>
#include <vector>

#include "run_start.hpp"
#include "tandem/core/json.hpp"

namespace tandem::app {

// The options that must equal those of the run's first start. Some have no effect on a data set
// without picture files (`has_pictures` is false).
std::vector<OptionSpec> fixed_options(const Options& options, bool has_pictures = true);

// What a checkpoint holds: the values of these options, as JSON.
std::string options_to_save(const Options& options);
// Rank 0. Reads them back; null or discarded if the checkpoint has none that can be read.
Json saved_options(const RunStart& start);

// The value of an option in `saved`, an object of the options of an earlier start, whose version
// may have written it under an alias, or not known it.
std::string saved_value(const Json& saved, const OptionSpec& spec);

// "0.05" and "5e-2" are the same.
bool mean_the_same(const std::string& one, const std::string& other);

}  // namespace tandem::app
