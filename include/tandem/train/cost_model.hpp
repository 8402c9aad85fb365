// Predicts the time of a step from measured times of its phases: the model of `tandem train --plan`
// and docs/scaling.md. Pure functions of numbers. Only fit_sums() throws.
#pragma once

#include <cstddef>
#include <vector>

#include "tandem/comm/allreduce/traffic.hpp"
#include "tandem/train/step_cost.hpp"

namespace tandem::train {

// The alpha-beta model of an all-reduce: `latency` plus a time for each byte reduced.
struct AlphaBetaCost {
  double latency = 0;           // seconds
  double seconds_per_byte = 0;  // 0 on one rank
  double seconds(double bytes) const { return latency + bytes * seconds_per_byte; }
};

struct MeasuredSum {
  double bytes = 0;
  double seconds = 0;
};

// Fits latency and bandwidth. The latency is the time of the shortest all-reduce, which should have
// almost no bytes. The slope is the least-squares line through that point; deviations in seconds
// are minimized, so that long all-reduces decide: a link may pass the first bytes of a burst at
// another speed. A single measurement gives a slope without latency. Throws UnavailableError if a
// measurement took no time, InternalError if there is none.
AlphaBetaCost fit_sums(const std::vector<MeasuredSum>& sums);

// A bucket of gradients, and the time between its completion and the end of backward.
struct BucketCost {
  double bytes = 0;
  double seconds_before_end = 0;
};

// The step including its exchange; `step.exchange` is ignored. Buckets start in order, each when it
// is complete and the previous one has ended. The share `overlap` of an all-reduce runs
// concurrently with backward, the rest is the rank's own work and delays backward. The last bucket,
// and all that remains, is reduced after backward.
StepCost add_exchange(StepCost step, const std::vector<BucketCost>& buckets,
                      const AlphaBetaCost& sum, double overlap);

// How the number of sequential messages of an all-reduce grows with the ranks.
enum class Rounds {
  kDoubling,  // 2 log2(ranks), as in recursive halving and doubling (Thakur, Rabenseifner, Gropp:
              // Optimization of Collective Communication Operations in MPICH, 2005)
  kRing,      // 2 (ranks - 1)
};

// Extrapolates from `from` to `to` ranks over links of the same kind, both at least 2: latency
// grows as the rounds do, and bytes as 2 (ranks - 1) / ranks, the share of each byte that a rank
// sends.
AlphaBetaCost extrapolate(const AlphaBetaCost& sum, int from, int to, Rounds rounds);

// The cost of all-reduces over hosts that are not started.
struct PlannedSum {
  AlphaBetaCost cost;
  double overlap = 0;  // the share of a sum of all gradients in which ranks only wait for the link
};

// `here`: the messages of a sum of all gradients that was measured among ranks of this host, and
// `measured`, which fits its time; none on one rank. Their processor time grows as the messages
// (latency) and the bytes of a rank. Over a link the latency of each round and the time of the
// bytes are added. The messages as in LogP (Culler et al., PPoPP 1993): an overhead o for each, a
// latency L for each round.
PlannedSum plan_sum(const comm::Traffic& there, const comm::Link& link, double bytes,
                    const comm::Traffic& here, const AlphaBetaCost& measured);

// The expected maximum of `count` independent samples of the standard normal distribution, as
// how far the slowest of `count` ranks is behind the mean in units of their standard deviation:
// the integral of x d(F(x)^count), by parts (David and Nagaraja, Order Statistics, 2003, 3.1).
double expected_maximum(int count);

// The bytes that each rank sends and receives in an all-reduce of `bytes` with the least traffic.
double sent_bytes(double bytes, int ranks);

}  // namespace tandem::train
