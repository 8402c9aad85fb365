// Training steps for measurements, made of the trainer's calls. Make the same calls on every rank.
// Throws what libtorch and the communicators throw; InternalError if the batches end too soon.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/cost_model.hpp"
#include "tandem/train/gradient_exchange.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/step_backend.hpp"

namespace tandem::train {

// Returns the same batch of noise each time.
class SyntheticBatch final : public BatchSource {
 public:
  // `images`: of this rank; `global_count`: over all ranks.
  SyntheticBatch(std::uint64_t images, std::uint64_t global_count, data::ImageShape shape,
                 bool channels_last, torch::Device device);
  std::optional<TensorBatch> next() override { return batch_; }

 private:
  TensorBatch batch_;
};

class TimedStep {
 public:
  // When to wait for the device: after the step, or also after each phase, which separates the
  // phases and prevents overlap.
  enum class Wait { kAtEnd, kAfterEachPhase };

  TimedStep(model::Network& network, ParameterArena& arena, model::Precision precision, Wait wait)
      : network_(network), arena_(arena), precision_(precision), wait_(wait) {}

  // Collective. One step of `micro_batches` batches. `backend` updates at a learning rate of 0; may
  // be null for no update.
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

// Collective. The median of each phase over these steps, of the rank whose steps take longest; the
// same on every rank.
StepCost of_slowest_rank(comm::Communicator& world, const std::vector<StepCost>& steps);

}  // namespace tandem::train
