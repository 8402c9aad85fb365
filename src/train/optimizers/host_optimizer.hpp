// What optimizers for CPUs have in common. Throws InternalError.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/train/optimizer.hpp"

namespace tandem::train {

// Counts its steps on the host. A caller that skips an update does not call step().
class HostOptimizer : public Optimizer {
 public:
  HostOptimizer(OptimizerOptions options, std::vector<StateArray> state)
      : options_(std::move(options)), state_(std::move(state)) {}

  void step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate,
            const torch::Tensor& skipped) final {
    if (skipped.defined()) throw InternalError("a CPU's optimizer is not told to leave a step out");
    ++steps_;
    update(values, gradients, learning_rate);
  }
  std::vector<StateArray> state() final { return state_; }
  void use_state(const std::vector<torch::Tensor>& arrays) final {
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i].values = arrays.at(i);
  }
  std::uint64_t steps() const final { return steps_; }
  void set_steps(std::uint64_t steps) final { steps_ = steps; }

 protected:
  // The array of the state with this index.
  const torch::Tensor& array(std::size_t number) const { return state_[number].values; }

  const OptimizerOptions options_;

 private:
  // steps() counts the step already.
  virtual void update(const torch::Tensor& values, const torch::Tensor& gradients,
                      double learning_rate) = 0;

  std::vector<StateArray> state_;
  std::uint64_t steps_ = 0;
};

}  // namespace tandem::train
