// The options of train, eval and bench on how a rank reads, orders, decodes and augments images.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"
#include "tandem/data/augment.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

OptionSpec decode_option();
OptionSpec eval_crop_option();
OptionSpec loader_threads_option();
data::Decoding read_decoding(Options& options);
data::Fit read_eval_crop(Options& options);
int read_loader_threads(Options& options);

OptionSpec cache_option();
// The order in which training uses picture files.
OptionSpec read_lanes_option();
OptionSpec shuffle_option();
OptionSpec stage_option();

// Sentences about options on the command line that affect picture files only. Call it for a set of
// pixels.
std::vector<std::string> describe_unused_by_pixels(const Options& options);

// Requires cache_option() in the table. Bytes; 0: not given.
std::uint64_t read_cache_option(Options& options);
// Requires these four options in the table.
void read_reading_options(Options& options, train::ReadingOptions& reading);

}  // namespace tandem::app
