// One training step of a rank: zero, forward, backward, exchange and update over its micro-batches.
// The objects of its context must outlive it. One thread; make the same calls on every rank. Throws
// what these objects throw; InternalError if the batches end too soon.
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/comm/progress.hpp"
#include "tandem/model/batch_exchange.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/class_weights.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/gradient_exchange.hpp"
#include "tandem/train/kept_buffers.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/recorded_steps.hpp"
#include "tandem/train/step_backend.hpp"
#include "tandem/train/step_cost.hpp"

namespace tandem::train {

struct StepContext {
  model::Network& network;
  ParameterArena& arena;
  GradientExchange& exchange;
  StepBackend& backend;
  BatchSource& batches;
  RecordedSteps* recorded = nullptr;      // on a GPU; for steps of one batch that wait for nothing
  ClassWeights* class_weights = nullptr;  // null: all count alike; otherwise no step is recorded
  const model::BatchExchange* norms = nullptr;  // if ranks share statistics of normalization
  // For a multi-label set: float [classes] on the device, or undefined.
  torch::Tensor positive_weights = {};
};

struct StepSettings {
  // When to wait for the device. Waiting after each phase separates the phases and prevents
  // overlap.
  enum class Wait { kNever, kAtEnd, kAfterEachPhase };

  std::uint64_t micro_batches = 1;      // of this rank, each a batch of the source
  std::uint64_t first_micro_batch = 0;  // its number among those of all ranks
  std::uint64_t seed = 0;               // of dropout
  model::Precision precision = model::Precision::kFp32;
  bool sums_loss = false;  // train by the sum over the global batch, not by its mean
  double label_smoothing = 0;
  // Skip an update whose gradient is not finite and restore the buffers.
  bool skip_nonfinite = false;
  Wait wait = Wait::kNever;

  static StepSettings of(const TrainConfig& config, const data::TrainingPlan& plan, int rank,
                         int world);
};

class StepRunner {
 public:
  // `progress` receives each phase; may be null.
  StepRunner(const StepContext& context, const StepSettings& settings,
             comm::Progress* progress = nullptr);

  // Collective. `step` counts from 0. Returns the times of the phases on this rank. With
  // Wait::kNever they exclude work that the device has not finished.
  StepCost run(std::uint64_t step, double learning_rate);

 private:
  class Stopwatch;
  class Phases;
  StepCost run_recorded(std::uint64_t step, double learning_rate);
  void do_on_device();
  void run_micro_batch(const TensorBatch& batch, std::uint64_t micro_batch, StepCost& cost,
                       Stopwatch& watch);
  void forward_backward(const TensorBatch& batch, Stopwatch& watch, double& forward_seconds);
  torch::Tensor loss_of(const TensorBatch& batch, const torch::Tensor& logits) const;
  torch::Tensor scale_of(const data::BatchRequest& request) const;
  void finish_phase(StepSettings::Wait least) const;

  const StepContext context_;
  const StepSettings settings_;
  comm::Progress* const progress_;
  std::optional<KeptBuffers> kept_buffers_;    // if updates may be skipped
  double global_weight_ = 0;                   // of the images of the step under way, if weighted
  std::optional<data::BatchRequest> request_;  // of the step under way, if steps are recorded
};

}  // namespace tandem::train
