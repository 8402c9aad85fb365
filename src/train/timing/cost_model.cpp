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
  if (sums.empty()) throw InternalError("no sum was measured");
  const auto shortest = std::min_element(
      sums.begin(), sums.end(),
      [](const MeasuredSum& a, const MeasuredSum& b) { return a.bytes < b.bytes; });
  AlphaBetaCost fit{sums.size() > 1 ? shortest->seconds : 0, 0};
  double products = 0;
  double squares = 0;
  for (const MeasuredSum& sum : sums) {
    if (!(sum.seconds > 0)) throw UnavailableError("a sum took no time by this host's clock");
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

PlannedSum plan_sum(const comm::Traffic& there, const comm::Link& link, double bytes,
                    const comm::Traffic& here, const AlphaBetaCost& measured) {
  AlphaBetaCost own;  // the processors' work
  if (here.messages > 0) {
    own = {measured.latency * there.messages / here.messages,
           measured.seconds_per_byte * there.rank_bytes / here.rank_bytes};
  }
  PlannedSum plan{own, 0};
  plan.cost.latency += comm::latency_on(link, there);
  plan.cost.seconds_per_byte += comm::transfer_seconds(link, there) / bytes;
  if (there.host_bytes > 0) plan.overlap = 1 - own.seconds(bytes) / plan.cost.seconds(bytes);
  return plan;
}

double expected_maximum(int count) {
  constexpr double kEnd = 10;  // of the normal distribution, for any int
  constexpr double kStep = 1e-3;
  const auto below = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  double sum = 0;  // of P(maximum > x) - P(maximum < -x) over x > 0
  for (double x = kStep / 2; x < kEnd; x += kStep) {
    sum += kStep * (-std::expm1(count * std::log1p(-below(-x))) - std::pow(below(-x), count));
  }
  return sum;
}

double sent_bytes(double bytes, int ranks) { return bytes * 2 * (ranks - 1) / ranks; }

}  // namespace tandem::train
