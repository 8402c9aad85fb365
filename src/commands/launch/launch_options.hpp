// The options of `tandem emit` that describe a job, and the forms that take them.
#pragma once

#include <cstdint>
#include <string>

#include "cli/options.hpp"
#include "commands/launch.hpp"

namespace tandem::app {

OptionTable launch_option_table();
// The options of the group "place".
void read_placement(Options& options, const std::string& form, Launch& launch);
// Reads --time. Without it, and if a fault is noted, there is no limit.
void read_time_limit(Options& options, const std::string& form, Launch& launch);
// Adds a fault for each option that does not fit the form or another option.
Launch read_launch(Options& options, const std::string& form);
// Whether options of `train` fit the job. Call it after they are in `launch`.
void check_train_options(const Launch& launch, const std::string& form, Options& options);

}  // namespace tandem::app
