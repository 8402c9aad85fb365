// What: the options of `tandem train` that change nothing in the arithmetic: what is reported, and
// how the run is kept safe. Module-private.
// Owns: nothing. Threads: any. Throws: nothing; what is wrong is a fault of `options`.
#pragma once

#include "tandem/app/train_options.hpp"

namespace tandem::app {

void read_reporting(Options& options, TrainReporting& reporting);
void read_checkpoint_policy(Options& options, CheckpointPolicy& checkpoint_policy);

}  // namespace tandem::app
