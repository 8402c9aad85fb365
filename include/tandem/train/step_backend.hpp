// What: what of a step's arithmetic depends on where it runs: counting a batch, and the way from
// the summed gradient to new weights. On a CPU every number is at hand; on a GPU nothing is read
// back before drain(), so that the host runs ahead of the device.
// Owns: sums; arena and optimizer must outlive it. Threads: one, the same on every rank.
// Throws: what libtorch throws; UnavailableError where libtorch is too old for a device.
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

// Of the steps since the last one was collected.
struct StepOutcome {
  Totals sums;  // this rank's
  Totals last;  // of the last step alone; on a device of the last that was not left out
  // Of the last step's whole gradient, before it was limited; where it is, and was finite.
  std::optional<double> gradient_norm;
  // Updates that were left out because the gradient was not finite: the same on every rank.
  std::uint64_t skipped = 0;
  std::uint64_t first_skipped = 0;  // a step's number, 0 is the run's first; if skipped > 0
  bool finite_loss = true;          // of this rank's batches, in every step
  // False: updates were left out although nothing scales the loss, or it is scaled by less than 1.
  bool healthy = true;
};

class StepBackend {
 public:
  virtual ~StepBackend() = default;

  // Whether drain() costs nothing, so that it may follow every step.
  virtual bool drains_without_sync() const = 0;
  // The gradient with respect to the summed loss of a batch: 1 / `global_count`, scaled.
  virtual torch::Tensor loss_scale_gradient(std::uint64_t global_count) = 0;
  // Of a batch of the step under way: its summed loss and its logits.
  virtual void count(const TensorBatch& batch, const torch::Tensor& loss,
                     const torch::Tensor& logits) = 0;
  // Ends the step: clips the arena's gradient and updates the weights. If the gradient is not
  // finite, skips the update and restores `buffers`, which may be null.
  virtual void update(std::uint64_t step, double learning_rate, KeptBuffers* buffers = nullptr) = 0;
  virtual StepOutcome drain() = 0;
  // Waits for the device. All 0 but for fp16.
  virtual LossScale loss_scale() const { return {}; }
};

// `clip_norm`: of the whole gradient, 0: no limit (torch.nn.utils.clip_grad_norm_).
std::unique_ptr<StepBackend> make_step_backend(ParameterArena& arena, Optimizer& optimizer,
                                               double clip_norm);
// For an arena on any device, with an optimizer of make_device_optimizer. `scale`: where the run
// stands; used with fp16 alone.
std::unique_ptr<StepBackend> make_device_step_backend(ParameterArena& arena, Optimizer& optimizer,
                                                      double clip_norm, model::Precision precision,
                                                      LossScale scale = {});

}  // namespace tandem::train
