// Predicts the time of a run's step by the cost model, from a few steps without exchange and a few
// all-reduces without steps. Collective. Throws what libtorch and the communicators throw.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/cost_model.hpp"
#include "tandem/train/gradient_exchange.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/step_backend.hpp"

namespace tandem::train {

// The steps that a forecast takes from the batches.
constexpr std::uint64_t kForecastSteps = 12;

// The objects of a run's step.
struct ForecastContext {
  comm::Communicator& world;
  comm::Collectives& gradients;  // their transport
  model::Network& network;
  ParameterArena& arena;
  StepBackend& backend;
  BatchSource& batches;
  std::uint64_t micro_batches = 1;  // batches of a step and rank
  model::Precision precision = model::Precision::kFp32;
  std::size_t bucket_bytes = 0;
  std::function<void()> touch;  // called repeatedly, because a forecast takes seconds
};

struct Forecast {
  StepCost compute;  // of the slowest rank; its exchange is that of a run without buckets
  std::vector<BucketCost> buckets;  // none on one rank, and where sums are made otherwise
  AlphaBetaCost sum;
  double overlap = 0;    // the share of a sum that goes on while backward does
  double agreement = 0;  // seconds in which ranks agree after a step whether to go on

  StepCost step() const {
    return buckets.empty() ? compute : add_exchange(compute, buckets, sum, overlap);
  }
  double seconds() const { return step().whole() + agreement; }
};

// Collective; the same result on every rank. Afterwards gradients are zero, but buffers and
// optimizer state have changed as in training on the batches, so a run must reinitialize them.
Forecast make_forecast(const ForecastContext& context);

// Collective. For a step with another exchange than buckets, which it measures: `compute` includes
// the exchange.
Forecast make_forecast(const ForecastContext& context, GradientExchange& exchange);

}  // namespace tandem::train
