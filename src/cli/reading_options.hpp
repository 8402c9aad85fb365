// The options on reading a data set that does not fit into memory.
#pragma once

#include <string>

#include "options.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

OptionSpec cache_option(const std::string& group);
// The order in which training uses picture files.
OptionSpec read_lanes_option(const std::string& group);
OptionSpec shuffle_option(const std::string& group);

// The table has cache_option(). In bytes; 0: not given.
std::uint64_t read_cache_option(Options& options);
// The table has all three.
void read_reading_options(Options& options, train::ReadingOptions& reading);

}  // namespace tandem::app
