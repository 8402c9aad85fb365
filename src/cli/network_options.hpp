// The options of `tandem train` that name the network and its initial weights.
#pragma once

#include "options.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

OptionSpec model_option();
OptionSpec hidden_option();
OptionSpec stem_option();
OptionSpec init_from_option();
OptionSpec freeze_option();
OptionSpec lr_scale_option();
OptionSpec gradient_checkpointing_option();
OptionSpec sync_bn_option();

// Both add faults to the options. The first reads the last option above, for config.model.
void read_gradient_checkpointing(Options& options, train::TrainConfig& config);
void read_network_options(Options& options, train::TrainConfig& config);

}  // namespace tandem::app
