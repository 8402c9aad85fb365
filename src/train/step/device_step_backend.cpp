#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tandem/model/fused_operators.hpp"
#include "tandem/model/fused_use.hpp"
#include "tandem/train/step_backend.hpp"

namespace tandem::train {
namespace {

// torch.amp.GradScaler of PyTorch 2.11 (torch/amp/grad_scaler.py).
constexpr double kFirstScale = 65536;
constexpr double kLeastFirstScale = 1;  // below it a gradient overflows fp32, too
constexpr double kGrowth = 2;
constexpr double kBackoff = 0.5;
constexpr int kGrowthInterval = 2000;

// Places of the sums on the device.
enum { kLoss, kCorrect, kCounted, kSkipped, kFirstSkipped, kBadLosses, kSums };
// And of a step's numbers.
enum { kRate, kStep, kImages, kNumbers };

class DeviceStepBackend final : public StepBackend {
 public:
  DeviceStepBackend(ParameterArena& arena, Optimizer& optimizer, double clip_norm,
                    model::Precision precision, LossScale scale)
      : arena_(arena),
        optimizer_(optimizer),
        clip_norm_(clip_norm),
        scales_(precision == model::Precision::kFp16),
        fused_(model::fused::is_used_on(arena.device().type())),
        scale_(torch::full({1}, scale.scale > 0 ? scale.scale : kFirstScale, floats())),
        good_steps_(torch::full({1}, scale.good_steps, floats().dtype(torch::kInt32))),
        one_(torch::ones({}, floats())),
        step_sums_(torch::zeros({2}, doubles())),
        step_loss_(step_sums_[0]),
        step_correct_(step_sums_[1]),
        numbers_(torch::zeros({kNumbers}, doubles())),
        sums_(torch::zeros({kSums}, doubles())),
        last_(torch::zeros({3}, doubles())),
        norm_(torch::full({}, NAN, doubles())),
        skipped_(torch::zeros({}, floats())) {}

  bool drains_without_sync() const override { return false; }

  void prepare(std::uint64_t step, double learning_rate,
               const data::BatchRequest& request) override {
    is_prepared_ = true;
    note(request);
    end_host_step(step, learning_rate);
  }

  torch::Tensor grad_output(std::uint64_t global_count) override {
    const double mean = 1.0 / static_cast<double>(global_count);
    if (scales_) return scale_.squeeze(0) * mean;
    // Kept, because a recorded step reads it where it was.
    torch::Tensor& kept = means_[global_count];
    if (!kept.defined()) kept = one_ * mean;
    return kept;
  }

  torch::Tensor differentiate(const TensorBatch& batch, const torch::Tensor& logits,
                              double label_smoothing, const torch::Tensor& scale) override {
    if (!fused_) return {};
    const torch::NoGradGuard no_grad;
    if (!is_prepared_) note(batch.request);
    return model::fused::cross_entropy(logits.detach().contiguous(), batch.labels, label_smoothing,
                                       scale, step_sums_);
  }

  void count(const TensorBatch& batch, const torch::Tensor& loss,
             const torch::Tensor& logits) override {
    const torch::NoGradGuard no_grad;
    step_loss_ += loss.detach();
    if (!batch.is_multi_label()) {
      step_correct_ += (logits.detach().argmax(1) == batch.labels).sum();
    }
    if (!is_prepared_) note(batch.request);
  }

  void update(std::uint64_t step, double learning_rate, KeptBuffers* buffers) override {
    const torch::NoGradGuard no_grad;
    if (!is_prepared_) end_host_step(step, learning_rate);
    const torch::Tensor skipped = unscale_and_clip();
    optimizer_.step_at(arena_.flat_values(), arena_.flat_gradients(), numbers_[kRate], skipped);
    if (scales_) {
      at::_amp_update_scale_(scale_, good_steps_, skipped.unsqueeze(0), kGrowth, kBackoff,
                             kGrowthInterval);
    }
    if (buffers != nullptr) buffers->restore_where(skipped);
    add_up(skipped);
  }

  StepOutcome drain() override {
    const torch::Tensor sums = sums_.cpu();
    const torch::Tensor last = last_.cpu();
    const auto* sum = sums.data_ptr<double>();
    StepOutcome outcome = std::exchange(outcome_, {});
    outcome.sums.loss = sum[kLoss];
    outcome.sums.correct = static_cast<std::int64_t>(sum[kCorrect]);
    outcome.sums.counted_images = static_cast<std::int64_t>(sum[kCounted]);
    outcome.skipped = static_cast<std::uint64_t>(sum[kSkipped]);
    outcome.first_skipped = static_cast<std::uint64_t>(sum[kFirstSkipped]);
    outcome.finite_loss = sum[kBadLosses] == 0;
    outcome.healthy = outcome.skipped == 0 || (scales_ && scale_.item<float>() >= 1);
    const auto* of_last = last.data_ptr<double>();
    outcome.last.loss = of_last[0];
    outcome.last.correct = static_cast<std::int64_t>(of_last[1]);
    outcome.last.images = static_cast<std::int64_t>(of_last[2]);
    outcome.last.counted_images = outcome.last.images;
    const auto norm = norm_.item<double>();
    if (std::isfinite(norm)) outcome.gradient_norm = norm;
    sums_.zero_();
    return outcome;
  }

  LossScale loss_scale() const override {
    if (!scales_) return {};
    return {scale_.item<float>(), good_steps_.item<int>()};
  }

 private:
  torch::TensorOptions floats() const {
    return torch::TensorOptions(arena_.device()).dtype(torch::kFloat32);
  }
  torch::TensorOptions doubles() const { return floats().dtype(torch::kFloat64); }

  // Unscales and clips them. Returns 1 if they are not finite, else 0.
  torch::Tensor unscale_and_clip() {
    const torch::Tensor& gradients = arena_.flat_gradients();
    if (fused_) {
      model::fused::unscale_and_clip(gradients, scales_ ? scale_ : torch::Tensor(), clip_norm_,
                                     norm_, skipped_);
      return skipped_;
    }
    if (scales_) gradients.mul_(1 / scale_);
    // Squares of floats cannot overflow in double, so it is finite where all of them are.
    const torch::Tensor norm = gradients.norm(2, torch::kFloat64);
    norm_.copy_(norm);
    if (clip_norm_ > 0) {
      gradients.mul_((clip_norm_ / (norm + 1e-6)).clamp_max(1).to(torch::kFloat32));
    }
    return norm.isfinite().logical_not().to(torch::kFloat32);
  }

  // Skipped steps count as 0. Their loss may be NaN, so nothing is multiplied by 0.
  void add_up(const torch::Tensor& skipped) {
    if (fused_) {
      model::fused::add_up({sums_, last_, step_sums_}, skipped, numbers_[kStep], numbers_[kImages]);
      return;
    }
    const torch::Tensor kept = skipped == 0;
    const torch::Tensor images = numbers_[kImages];
    const torch::Tensor is_first = skipped.logical_and(sums_[kSkipped] == 0);
    const torch::Tensor zero = torch::zeros_like(step_loss_);
    sums_[kFirstSkipped] = torch::where(is_first, numbers_[kStep], sums_[kFirstSkipped]);
    sums_[kLoss] += torch::where(kept, step_loss_, zero);
    sums_[kCorrect] += step_correct_;
    sums_[kCounted] += kept * images;
    sums_[kSkipped] += skipped;
    sums_[kBadLosses] += step_loss_.isfinite().logical_not();
    const torch::Tensor of_step = torch::stack({step_loss_, step_correct_, images});
    last_.copy_(torch::where(kept, of_step, last_));
    step_sums_.zero_();
  }

  void note(const data::BatchRequest& request) {
    step_.images += static_cast<std::int64_t>(request.images.size());
    step_.id_hash += id_hash_of(request);
  }

  // The device counts the images of steps that are not skipped.
  void end_host_step(std::uint64_t step, double learning_rate) {
    const torch::Tensor numbers = torch::empty(
        {kNumbers}, torch::TensorOptions(torch::kFloat64).pinned_memory(arena_.device().is_cuda()));
    auto* number = numbers.data_ptr<double>();
    number[kRate] = learning_rate;
    number[kStep] = static_cast<double>(step);
    number[kImages] = static_cast<double>(step_.images);
    numbers_.copy_(numbers, /*non_blocking=*/true);
    outcome_.sums.add(std::exchange(step_, {}));
  }

  ParameterArena& arena_;
  Optimizer& optimizer_;
  const double clip_norm_;
  const bool scales_;
  const bool fused_;          // whether the device has operators for the arithmetic here
  torch::Tensor scale_;       // float [1]
  torch::Tensor good_steps_;  // int32 [1]
  const torch::Tensor one_;
  const torch::Tensor step_sums_;  // of the step under way: these two
  torch::Tensor step_loss_;
  torch::Tensor step_correct_;
  const torch::Tensor numbers_;  // of the step under way
  bool is_prepared_ = false;     // prepare() does the host's part of each step
  torch::Tensor sums_;
  torch::Tensor last_;  // of the last step that was not skipped: loss, correct answers, images
  torch::Tensor norm_;  // of the last step's gradient
  const torch::Tensor skipped_;                   // 1 if the step under way is skipped
  std::map<std::uint64_t, torch::Tensor> means_;  // 1 / n
  Totals step_;                                   // what the host knows of the step under way
  StepOutcome outcome_;
};

}  // namespace

LossScale first_loss_scale(std::uint64_t summed_images) {
  const double power = std::exp2(std::ceil(std::log2(static_cast<double>(summed_images))));
  return {std::max(kLeastFirstScale, kFirstScale / power), 0};
}

std::unique_ptr<StepBackend> make_device_step_backend(ParameterArena& arena, Optimizer& optimizer,
                                                      double clip_norm, model::Precision precision,
                                                      LossScale scale) {
  return std::make_unique<DeviceStepBackend>(arena, optimizer, clip_norm, precision, scale);
}

}  // namespace tandem::train
