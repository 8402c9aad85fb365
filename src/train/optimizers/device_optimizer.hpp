// What optimizers for devices have in common. Throws what libtorch throws.
#pragma once

#include <utility>
#include <vector>

#include "tandem/train/optimizer.hpp"

namespace tandem::train {

constexpr char kNoFusedOptimizers[] =
    "this libtorch is older than 2.4 and has no fused optimizers, which a GPU needs; build against "
    "a newer one: make -f Makefile.hpc build LIBTORCH=wheel";

// Copies `values` to `to`, except in a skipped step. Its values may be NaN, so nothing is
// multiplied by 0.
inline void write_unless_skipped(torch::Tensor to, const torch::Tensor& values,
                                 const torch::Tensor& skipped) {
  if (skipped.defined()) {
    torch::where_out(to, skipped.to(torch::kBool), to, values);
  } else {
    to.copy_(values);
  }
}

// Counts its steps on the device, because only the device detects which steps are skipped.
class DeviceOptimizer : public Optimizer {
 public:
  DeviceOptimizer(OptimizerOptions options, torch::TensorOptions count,
                  std::vector<StateArray> state)
      : options_(std::move(options)),
        state_(std::move(state)),
        steps_(torch::zeros({}, count)),
        rate_(torch::zeros({}, count.dtype(torch::kFloat64))) {}

  void step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate,
            const torch::Tensor& skipped) final {
    rate_.fill_(learning_rate);
    step_at(values, gradients, rate_, skipped);
  }
  std::vector<StateArray> state() final { return state_; }
  std::uint64_t steps() const final { return static_cast<std::uint64_t>(steps_.item<double>()); }
  void set_steps(std::uint64_t steps) final { steps_.fill_(static_cast<double>(steps)); }

 protected:
  // The array of the state with this index.
  const torch::Tensor& array(std::size_t number) const { return state_[number].values; }

  const OptimizerOptions options_;
  const std::vector<StateArray> state_;
  torch::Tensor steps_;

 private:
  const torch::Tensor rate_;  // of the last step()
};

// Counts a step before update() makes it.
class CountingOptimizer : public DeviceOptimizer {
 public:
  // libtorch's fused AdamW needs a float, which counts up to 2^24 steps and then stays.
  CountingOptimizer(OptimizerOptions options, torch::Device device, std::vector<StateArray> state)
      : DeviceOptimizer(std::move(options), torch::TensorOptions(torch::kFloat32).device(device),
                        std::move(state)) {}

  void step_at(const torch::Tensor& values, const torch::Tensor& gradients,
               const torch::Tensor& learning_rate, const torch::Tensor& skipped) final {
    steps_ += skipped.defined() ? 1 - skipped : torch::ones_like(steps_);
    update(values, gradients, learning_rate, skipped);
  }

 private:
  virtual void update(const torch::Tensor& values, const torch::Tensor& gradients,
                      const torch::Tensor& learning_rate, const torch::Tensor& skipped) = 0;
};

}  // namespace tandem::train
