// What optimizers for CPUs have in common. Throws InternalError.
#pragma once

#include <cstdint>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/train/optimizer.hpp"

namespace tandem::train {

// Counts its steps on the host. A caller that skips an update does not call step().
class HostOptimizer : public Optimizer {
 public:
  explicit HostOptimizer(OptimizerOptions options) : options_(std::move(options)) {}

  void step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate,
            const torch::Tensor& skipped) final {
    if (skipped.defined()) throw InternalError("a CPU's optimizer is not told to leave a step out");
    ++steps_;
    update(values.data_ptr<float>(), gradients.data_ptr<float>(),
           static_cast<std::size_t>(values.numel()), learning_rate);
  }
  std::uint64_t steps() const final { return steps_; }
  void set_steps(std::uint64_t steps) final { steps_ = steps; }

 protected:
  const OptimizerOptions options_;

 private:
  // steps() counts the step already.
  virtual void update(float* values, const float* gradients, std::size_t size,
                      double learning_rate) = 0;

  std::uint64_t steps_ = 0;
};

}  // namespace tandem::train
