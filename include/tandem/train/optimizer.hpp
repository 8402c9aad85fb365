// What: PyTorch's SGD and AdamW over flat arrays, in one pass.
// Owns: its state (momentum, moments), one float or two a parameter. Threads: one at a time.
// Throws: nothing.
//
// Update rules: torch.optim.SGD and torch.optim.AdamW of PyTorch 2.11 (torch/optim/sgd.py,
// adamw.py). Rounding does not depend on the instruction set, so ranks on unlike processors stay
// equal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/span.hpp"

namespace tandem::train {

struct OptimizerOptions {
  std::string name = "sgd";
  double momentum = 0.9;    // sgd
  bool nesterov = false;    // sgd
  double weight_decay = 0;  // sgd: added to the gradient; adamw: decoupled
  double beta1 = 0.9;       // adamw
  double beta2 = 0.999;     // adamw
  double epsilon = 1e-8;    // adamw
};

// One of an optimizer's arrays, laid out as the parameters are.
struct StateArray {
  std::string name;  // "velocity"
  Span<float> values;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // values -= update(gradients); both of the size given to make_optimizer, in the same order at
  // each call.
  void step(Span<float> values, Span<const float> gradients, double learning_rate) {
    ++steps_;
    update(values, gradients, learning_rate);
  }
  // All that it remembers, beside the number of its steps.
  virtual std::vector<StateArray> state() = 0;
  std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }

 private:
  // The step's arithmetic; steps() counts it already.
  virtual void update(Span<float> values, Span<const float> gradients, double learning_rate) = 0;

  std::uint64_t steps_ = 0;
};

// `options.name` is "sgd" or "adamw"; `size` in floats.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, std::size_t size);

}  // namespace tandem::train
