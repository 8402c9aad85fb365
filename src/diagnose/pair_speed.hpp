// Measures the transfer speed of each pair of ranks. Main thread. Throws InternalError if MPI
// fails.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/progress.hpp"

namespace tandem::app {

// Each sends to the other at the same time.
struct PairSpeed {
  int first = 0;
  int second = 0;
  double bytes_per_second = 0;  // in each direction
};

// The partner of `place` among `size` in a round of the circle method, in which each pair meets
// once in rounds_of(size) rounds; -1: none.
int partner_of(int place, int size, int round);
int rounds_of(int size);

// Collective over `comm`. The pairs in which this rank is the lower one, by the numbers of `ranks`,
// which lists those that take part in ascending order; the others wait. In each round all pairs
// measure at the same time. Of very many ranks each meets 63 others. Rounds are reported as the
// steps that follow `step`, so that a pair that hangs is told from those that wait for it.
std::vector<PairSpeed> measure_pairs(comm::Communicator& comm, const std::vector<int>& ranks,
                                     comm::Progress& progress, std::uint64_t step);

}  // namespace tandem::app
