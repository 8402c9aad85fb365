// The options of `tandem train` that name the network and its initial weights.
#pragma once

#include "options.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

OptionSpec model_option(const std::string& group);
OptionSpec hidden_option(const std::string& group);
OptionSpec stem_option(const std::string& group);
OptionSpec init_from_option(const std::string& group);
OptionSpec freeze_option(const std::string& group);
OptionSpec lr_scale_option(const std::string& group);

// Adds faults to the options.
void read_network_options(Options& options, train::TrainConfig& config);

}  // namespace tandem::app
