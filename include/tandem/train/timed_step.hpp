// What: training steps that are run to be timed, made of the calls that the trainer makes.
// Owns: SyntheticBatch its batch; all else must outlive it. Threads: one, the same on every rank.
// Throws: what libtorch and the communicators throw; InternalError where batches end too soon.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/data/image_shape.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/cost_model.hpp"
#include "tandem/train/gradient_exchange.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/step_backend.hpp"

namespace tandem::train {

// One batch of noise, again and again.
class SyntheticBatch final : public BatchSource {
 public:
  // `images` of this rank, of `global_count` over all.
  SyntheticBatch(std::uint64_t images, std::uint64_t global_count, data::ImageShape shape,
                 bool channels_last, torch::Device device);
  std::optional<TensorBatch> next() override { return batch_; }

 private:
  TensorBatch batch_;
};

class TimedStep {
 public:
  // When a device is waited for: after the step, or after each micro_batch of it too, which tells
  // them apart and lets nothing overlap.
  enum class Wait { kAtEnd, kAfterEachPhase };

  TimedStep(model::Network& network, ParameterArena& arena, model::Precision precision, Wait wait)
      : network_(network), arena_(arena), precision_(precision), wait_(wait) {}

  // Collective. Of `micro_batches` batches. `backend` updates at a learning rate of 0; without it
  // there is no update.
  StepCost run(BatchSource& batches, std::uint64_t micro_batches, GradientExchange& exchange,
               StepBackend* backend);

 private:
  void finish_phase();

  model::Network& network_;
  ParameterArena& arena_;
  const model::Precision precision_;
  const Wait wait_;
};

double median_of(std::vector<double> values);

// Collective. Of each micro_batch the median over these steps, on the rank whose steps take
// longest; the same on every rank.
StepCost of_slowest_rank(comm::Communicator& world, const std::vector<StepCost>& steps);

}  // namespace tandem::train
