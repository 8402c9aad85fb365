#include "tandem/train/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

double count_rounds(int ranks, Rounds rounds) {
  return 2 * (rounds == Rounds::kRing ? ranks - 1.0 : std::ceil(std::log2(ranks)));
}

}  // namespace

AlphaBetaCost fit_sums(const std::vector<MeasuredSum>& sums) {
  if (sums.empty()) throw UsageError("no sum was measured");
  const auto shortest = std::min_element(
      sums.begin(), sums.end(),
      [](const MeasuredSum& a, const MeasuredSum& b) { return a.bytes < b.bytes; });
  AlphaBetaCost fit{sums.size() > 1 ? shortest->seconds : 0, 0};
  double products = 0;
  double squares = 0;
  for (const MeasuredSum& sum : sums) {
    if (!(sum.seconds > 0)) throw UsageError("a sum took no time by this host's clock");
    products += sum.bytes * (sum.seconds - fit.latency);
    squares += sum.bytes * sum.bytes;
  }
  if (squares > 0) fit.seconds_per_byte = std::max(0.0, products / squares);
  return fit;
}

StepCost add_exchange(StepCost step, const std::vector<BucketCost>& buckets,
                      const AlphaBetaCost& sum, double overlap) {
  step.exchange = 0;
  if (buckets.empty()) return step;
  double held_up = 0;    // backward, by the ranks' own work
  double link_free = 0;  // seconds after backward began
  for (std::size_t i = 0; i + 1 < buckets.size(); ++i) {
    const double seconds = sum.seconds(buckets[i].bytes);
    const double ready = std::max(0.0, step.backward - buckets[i].seconds_before_end);
    const double start = std::max(ready + held_up, link_free);
    held_up += (1 - overlap) * seconds;
    link_free = start + seconds;
  }
  const double backward_ends = step.backward + held_up;
  const double rest = std::max(0.0, link_free - backward_ends);
  step.backward = backward_ends;
  step.exchange = rest + sum.seconds(buckets.back().bytes);
  return step;
}

AlphaBetaCost extrapolate(const AlphaBetaCost& sum, int from, int to, Rounds rounds) {
  return {sum.latency * count_rounds(to, rounds) / count_rounds(from, rounds),
          sum.seconds_per_byte * sent_bytes(1, to) / sent_bytes(1, from)};
}

double sent_bytes(double bytes, int ranks) { return bytes * 2 * (ranks - 1) / ranks; }

}  // namespace tandem::train
