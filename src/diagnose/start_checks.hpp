// The facts of all ranks that cost only a few small messages, and the warnings of `train` and
// `info` from them. Main thread. Throws InternalError if MPI fails.
#pragma once

#include <vector>

#include "doctor_facts.hpp"
#include "session/job.hpp"

namespace tandem::app {

// Collective. What this rank sees of its place, its machine and its neighbors.
RankFacts look_at_start(Job& job, int threads);

// Collective. On rank 0 those of every rank, in rank order; elsewhere empty.
std::vector<RankFacts> gather_facts(Job& job, const RankFacts& mine);

// Collective. Rank 0 warns of what `tandem doctor` would find in these facts, a line each, but for
// shared memory: where images are too large for it, warn_of_data_set() has said so.
void warn_of_start(Job& job, const RankFacts& mine);

}  // namespace tandem::app
