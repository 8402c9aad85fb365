// What: how long a step of a run will take, from a few steps without exchange and a few sums
// without steps, by the cost model. Owns: values. Threads: one, the same on every rank. Throws:
// what libtorch and the communicators throw.
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

// As many steps as a forecast takes from the batches.
constexpr std::uint64_t kForecastSteps = 12;

// What a step is made of; all of it is the run's own.
struct ForecastContext {
  comm::Communicator& world;
  comm::Collectives& gradients;  // what carries them
  model::Network& network;
  ParameterArena& arena;
  StepBackend& backend;
  BatchSource& batches;
  std::uint64_t micro_batches = 1;  // batches of a step and rank
  model::Precision precision = model::Precision::kFp32;
  std::size_t bucket_bytes = 0;
  std::function<void()> touch;  // called now and then, because it takes a while
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

// Collective; the same on every rank. Afterwards gradients are zero; buffers, and the optimizer's
// state, are what training on the batches made of them, so a run begins anew.
Forecast make_forecast(const ForecastContext& context);

// Collective. The same of a step whose exchange is another than in buckets, by making it: `compute`
// holds all of it.
Forecast make_forecast(const ForecastContext& context, GradientExchange& exchange);

}  // namespace tandem::train
