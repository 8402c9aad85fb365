// The options of `tandem train` that do not affect the arithmetic: reports and checkpoints. A bad
// value is a fault of `options`.
#pragma once

#include "train_options.hpp"

namespace tandem::app {

void read_reporting(Options& options, TrainReporting& reporting);
void read_checkpoint_policy(Options& options, train::CheckpointPolicy& checkpoint_policy);

}  // namespace tandem::app
