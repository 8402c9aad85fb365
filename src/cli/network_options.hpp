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
OptionSpec gradient_checkpointing_option(const std::string& group);
OptionSpec sync_bn_option(const std::string& group);

// Both add faults to the options. The first reads the last option above, for config.model.
void read_gradient_checkpointing(Options& options, train::TrainConfig& config);
void read_network_options(Options& options, train::TrainConfig& config);

}  // namespace tandem::app
