// Predicts the time of a run's step by the cost model, from a few steps without exchange and a few
// all-reduces without steps. Collective. Throws what libtorch and the communicators throw.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/train/cost_model.hpp"
#include "tandem/train/step_runner.hpp"

namespace tandem::train {

// The steps that a forecast takes from the batches.
constexpr std::uint64_t kForecastSteps = 12;

struct ForecastContext {
  comm::Communicator& world;
  comm::Collectives& gradients;  // their transport
  StepContext step;              // the run's
  StepSettings settings;
  // Of the run's exchange. Absent: the run has no buckets, and steps are measured with its
  // exchange.
  std::optional<std::size_t> bucket_bytes;
  Touch touch;  // called repeatedly, because a forecast takes seconds
};

struct Forecast {
  StepCost compute;  // of the slowest rank; includes the exchange if there are no buckets
  std::vector<BucketCost> buckets;  // none where sums are made otherwise; free on one rank
  AlphaBetaCost sum;
  double overlap = 0;    // the share of a sum that goes on while backward does
  double agreement = 0;  // seconds in which ranks agree after a step whether to go on

  StepCost step() const {
    return buckets.empty() ? compute : add_exchange(compute, buckets, sum, overlap);
  }
  double seconds() const { return step().whole() + agreement; }
};

// Collective; the same result on every rank. Fits sums of ranges of the gradients by
// context.gradients, for several buckets non-blocking ones. Gradients change.
AlphaBetaCost measure_sums(const ForecastContext& context, bool has_several_buckets);

// Collective; the same result on every rank. Afterwards gradients are zero, but buffers and
// optimizer state have changed as in training on the batches, so a run must reinitialize them.
Forecast make_forecast(const ForecastContext& context);

}  // namespace tandem::train
