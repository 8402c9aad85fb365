// The options of `tandem train` for the update of the weights: optimizer, learning rate, schedule,
// loss and moving average. Bad values are added to the options as faults.
#pragma once

#include "options.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

OptionTable optimizer_options();

// Call it after --augment is read: --class-weights refuses mixed images.
void read_optimizer_options(Options& options, train::TrainConfig& config);

}  // namespace tandem::app
