// The device-dependent arithmetic of a step: loss scaling, sums over a batch, and the update from
// the summed gradient. On a CPU all numbers are available at once; on a GPU nothing is read back
// before drain(), so that the host runs ahead of the device. Arena and optimizer must outlive it.
// Make the same calls on every rank. Throws what libtorch throws; UnavailableError if libtorch is
// too old for a device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tandem/model/precision.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/kept_buffers.hpp"
#include "tandem/train/loss_scale.hpp"
#include "tandem/train/objective.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// The result of the steps since the last drain().
struct StepOutcome {
  Totals sums;  // this rank's
  Totals last;  // of the last step; on a device of the last step that was not skipped
  // The norm of the last step's gradient before clipping; absent if it was not finite.
  std::optional<double> gradient_norm;
  // Updates skipped because the gradient was not finite; the same on every rank.
  std::uint64_t skipped = 0;
  std::uint64_t first_skipped = 0;  // a step's number, 0 is the run's first; if skipped > 0
  bool finite_loss = true;          // of this rank's batches, in every step
  // False if updates were skipped although the loss is not scaled, or scaled by less than 1.
  bool healthy = true;
};

class StepBackend {
 public:
  virtual ~StepBackend() = default;

  // Whether drain() needs no synchronization, so that it can follow every step.
  virtual bool drains_without_sync() const = 0;
  // For a step that is recorded once and repeated: does what the host has to do for this batch, and
  // brings the step's numbers to the device. Calls up to update() then only start operations, the
  // same for each batch of a size, and update() takes its numbers from here. Call it before each
  // step or before none. Only for a device.
  virtual void prepare(std::uint64_t step, double learning_rate, const data::BatchRequest& request);
  // The gradient for backward of a batch's summed loss: 1 / `global_count`, times the loss scale.
  virtual torch::Tensor grad_output(std::uint64_t global_count) = 0;
  // Adds a batch of the current step: its summed loss and its logits.
  virtual void count(const TensorBatch& batch, const torch::Tensor& loss,
                     const torch::Tensor& logits) = 0;
  // count() of the logits' loss in one pass with its gradient, which is returned: with respect to
  // the logits, times `scale`. Undefined, and nothing is counted, where the device has no operator
  // for it.
  virtual torch::Tensor differentiate(const TensorBatch& batch, const torch::Tensor& logits,
                                      double label_smoothing, const torch::Tensor& scale);
  // Ends the step: clips the arena's gradient and updates the weights. If the gradient is not
  // finite, skips the update and restores `buffers`, which may be null.
  virtual void update(std::uint64_t step, double learning_rate, KeptBuffers* buffers = nullptr) = 0;
  virtual StepOutcome drain() = 0;
  // Waits for the device. All 0 except for fp16.
  virtual LossScale loss_scale() const { return {}; }
};

// `clip_norm`: limit of the gradient's norm, 0: none (torch.nn.utils.clip_grad_norm_).
std::unique_ptr<StepBackend> make_step_backend(ParameterArena& arena, Optimizer& optimizer,
                                               double clip_norm);
// For an arena on any device, with an optimizer of make_device_optimizer(). `scale`: the initial
// loss scale, used for fp16 only.
std::unique_ptr<StepBackend> make_device_step_backend(ParameterArena& arena, Optimizer& optimizer,
                                                      double clip_norm, model::Precision precision,
                                                      LossScale scale = {});

}  // namespace tandem::train
