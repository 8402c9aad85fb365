// The options for reading picture files and their order.
#pragma once

#include <string>

#include "options.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

OptionSpec cache_option(const std::string& group);
// The order in which training uses picture files.
OptionSpec read_lanes_option(const std::string& group);
OptionSpec shuffle_option(const std::string& group);

// Requires cache_option() in the table. Bytes; 0: not given.
std::uint64_t read_cache_option(Options& options);
// Requires all three options in the table.
void read_reading_options(Options& options, train::ReadingOptions& reading);

}  // namespace tandem::app
