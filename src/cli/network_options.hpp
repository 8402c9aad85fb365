// The options of `tandem train` that name the network and its initial weights.
#pragma once

#include "options.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

// Rows of the table of `train`, in the order of its help.
OptionTable network_options();
// Adds faults to the options.
void read_network_options(Options& options, train::TrainConfig& config);

}  // namespace tandem::app
