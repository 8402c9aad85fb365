// The options of train and bench that affect how a rank's loader makes images.
#pragma once

#include <string>

#include "options.hpp"
#include "tandem/data/augment.hpp"

namespace tandem::app {

OptionSpec decode_option(const std::string& group);
OptionSpec loader_threads_option(const std::string& group);
data::Decoding read_decoding(Options& options);
int read_loader_threads(Options& options);

}  // namespace tandem::app
