// The options of every command whose ranks wait for each other. Thread-safe. A bad value is a fault
// of the options.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"
#include "tandem/comm/watchdog.hpp"

namespace tandem::app {

// --stall-warn and --stall-abort, with train's defaults.
OptionTable stall_options(const std::string& group);
OptionTable with_stall_options(OptionTable table, const std::string& group);
comm::StallLimits read_stall_limits(Options& options);
// The limits from command line and environment, before all options are read, checked and compared
// between ranks; train's defaults if they cannot be parsed.
comm::StallLimits early_stall_limits(std::vector<std::string> arguments);

}  // namespace tandem::app
