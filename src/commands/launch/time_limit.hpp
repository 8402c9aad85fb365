// The limit of a job's time.
#pragma once

#include <cstdint>

#include "cli/options.hpp"

namespace tandem::app {

// The seconds of --time; 0 without it, and if a fault is noted.
std::uint64_t read_time_limit(Options& options);

}  // namespace tandem::app
