// What: which images an epoch must have used. Private to the module.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <cstdint>

#include "tandem/data/sampler.hpp"
#include "tandem/train/objective.hpp"

namespace tandem::train {

// What the images of the epoch of `last_step`, as far as it was run, must add up to: their number
// and the hash of their ids.
Totals expected_accounting(const data::TrainingPlan& plan, std::uint64_t last_step);

}  // namespace tandem::train
