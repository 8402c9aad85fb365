// An optimizer that also keeps the exponential moving average (EMA) of weights and buffers: the
// model that is evaluated, saved and exported. One thread at a time. Throws what libtorch throws.
//
// After each update that is not skipped, average += (1 - decay) * (value - average), from the
// values at the start on: timm's ModelEmaV2, and torch.optim.swa_utils.AveragedModel with
// get_ema_multi_avg_fn(decay) and use_buffers. Buffers of other types than float32, such as
// BatchNorm's number of batches, are not averaged.
#pragma once

#include <memory>
#include <vector>

#include "tandem/model/network.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

class WeightAverage final : public Optimizer {
 public:
  // Starts with the current weights and buffers. `decay` in (0, 1). Arena and network must outlive
  // it.
  WeightAverage(std::unique_ptr<Optimizer> inner, const ParameterArena& arena,
                const model::Network& network, double decay);

  void step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate,
            const torch::Tensor& skipped) override;
  void step_at(const torch::Tensor& values, const torch::Tensor& gradients,
               const torch::Tensor& learning_rate, const torch::Tensor& skipped) override;
  // The inner optimizer's, and "averaged_weights"; while exchanged, "trained_weights".
  std::vector<StateArray> state() override;
  // "averaged_buffers" or "trained_buffers": those of float32 one after the other, if there are
  // any.
  std::vector<StateArray> unlike_parameters() override;
  std::uint64_t steps() const override { return inner_->steps(); }
  void set_steps(std::uint64_t steps) override { inner_->set_steps(steps); }
  void swap_average() override;

 private:
  // A TorchScript module may replace a buffer by another tensor, so they are looked up each time.
  std::vector<torch::Tensor> buffers() const;
  torch::Tensor flat_buffers() const;
  void average(const torch::Tensor& values, const torch::Tensor& skipped);

  const std::unique_ptr<Optimizer> inner_;
  const torch::Tensor values_;  // the arena's
  const model::Network& network_;
  const double share_;  // of the new value
  bool is_exchanged_ = false;
  torch::Tensor weights_;
  torch::Tensor buffers_;  // empty if the network has none
};

}  // namespace tandem::train
