// Totals over all ranks, and the images that an epoch must have used. Call reduced() on the
// communicator's thread. Throws Error from the communicator.
#pragma once

#include <cstdint>

#include "tandem/comm/communicator.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/train/objective.hpp"

namespace tandem::train {

// The expected number and hash of the image ids of the epoch of `last_step`, up to that step.
Totals expected_accounting(const data::TrainingPlan& plan, std::uint64_t last_step);

// Collective. The sum over the ranks, on rank 0.
Totals reduced(comm::Communicator& comm, Totals totals);

}  // namespace tandem::train
