// What: how long a step takes, from what its parts were measured to take: the model behind
// `tandem train --plan` and docs/scaling.md. Plain numbers in and out.
// Owns: values. Threads: any. Throws: UsageError for measurements that no line fits.
#pragma once

#include <cstddef>
#include <vector>

namespace tandem::train {

// Seconds of the parts of a step on one rank.
struct StepCost {
  double data = 0;  // waiting for batches
  double forward = 0;
  double backward = 0;
  double exchange = 0;  // what is left of it when backward has ended
  double update = 0;
  double whole() const { return data + forward + backward + exchange + update; }
};

// A sum over all ranks takes `latency` and so much for each byte of what is summed.
struct AlphaBetaCost {
  double latency = 0;           // seconds
  double seconds_per_byte = 0;  // 0 where it costs nothing, as on one rank
  double seconds(double bytes) const { return latency + bytes * seconds_per_byte; }
};

struct MeasuredSum {
  double bytes = 0;
  double seconds = 0;
};

// The latency is that of the shortest sum, which is to be of next to no bytes; the rest is the line
// from there with the least squares of deviations in seconds, which long sums decide: a link may
// let the first bytes of a burst pass at another speed. One measurement alone is all bytes. Throws
// where there is none, or one that took no time.
AlphaBetaCost fit_sums(const std::vector<MeasuredSum>& sums);

// A bucket of gradients, and how long before the end of backward it is complete.
struct BucketCost {
  double bytes = 0;
  double seconds_before_end = 0;
};

// The step with all of its exchange. `step.exchange` is not read. The buckets start in their order,
// each when it is complete and the one before has ended; of its sum the share `overlap` goes on
// while backward does, the rest is the rank's own work and holds backward up. The last bucket is
// summed after backward, with all that is left.
StepCost add_exchange(StepCost step, const std::vector<BucketCost>& buckets,
                      const AlphaBetaCost& sum, double overlap);

// How the number of messages that follow each other in a sum grows with the ranks.
enum class Rounds {
  kDoubling,  // 2 log2(ranks), as in recursive halving and doubling (Thakur, Rabenseifner, Gropp:
              // Optimization of Collective Communication Operations in MPICH, 2005)
  kRing,      // 2 (ranks - 1)
};

// What was measured on `from` ranks, on `to` ranks over links of the same kind: latency grows as
// the rounds do, and bytes as 2 (ranks - 1) / ranks, what each rank sends of a byte that is summed.
// Both at least 2.
AlphaBetaCost extrapolate(const AlphaBetaCost& sum, int from, int to, Rounds rounds);

// What each rank sends and receives of `bytes` that are summed, in a sum that sends the least.
double sent_bytes(double bytes, int ranks);

}  // namespace tandem::train
