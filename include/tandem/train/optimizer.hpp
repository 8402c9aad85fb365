// PyTorch's SGD and AdamW over flat arrays, in one pass. Keeps one or two floats of state per
// parameter. One thread at a time.
//
// Update rules: torch.optim.SGD and torch.optim.AdamW of PyTorch 2.11 (torch/optim/sgd.py,
// adamw.py). On a CPU rounding does not depend on the instruction set, so ranks on different
// processors stay equal; on a GPU libtorch's fused kernels compute.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/model/libtorch.hpp"
#include "tandem/train/optimizer_options.hpp"

namespace tandem::train {

// One of an optimizer's arrays, flat and laid out as the parameters are.
struct StateArray {
  std::string name;  // "velocity"
  torch::Tensor values;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // values -= update(gradients); both flat, fp32, of the size and on the device of
  // make_optimizer(), in the same order at each call. `skipped`: undefined, or a float on the
  // device; if it is 1, nothing changes.
  virtual void step(const torch::Tensor& values, const torch::Tensor& gradients,
                    double learning_rate, const torch::Tensor& skipped = {}) = 0;
  // The same with the rate in a double of the device, [], so that a recorded step can be repeated
  // at another rate. An optimizer for CPUs reads it.
  virtual void step_at(const torch::Tensor& values, const torch::Tensor& gradients,
                       const torch::Tensor& learning_rate, const torch::Tensor& skipped = {}) {
    step(values, gradients, learning_rate.item<double>(), skipped);
  }
  // Its state, without the number of its steps.
  virtual std::vector<StateArray> state() = 0;
  // Flat arrays that are not laid out as the arena. As with a network's buffers, those of rank 0
  // are used.
  virtual std::vector<StateArray> unlike_parameters() { return {}; }
  // Swaps the weights and the network's buffers with their averages, if it keeps any
  // (weight_average.hpp). A second call swaps them back. A checkpoint holds the swapped state.
  virtual void swap_average() {}
  // Uses these arrays as its state, in the order of state(). Throws InternalError unless it updates
  // the weights of a CPU itself.
  virtual void use_state(const std::vector<torch::Tensor>& arrays);
  // Without skipped steps; on a GPU this waits for the device.
  virtual std::uint64_t steps() const = 0;
  virtual void set_steps(std::uint64_t steps) = 0;

  // Whether ranks of a host share the weights and this state (shared_optimizer.hpp).
  virtual bool is_shared() const { return false; }
  // The name of the first tensor in this rank's parts of them that changed outside of step(); empty
  // if none did.
  virtual std::string find_foreign_write() { return {}; }
};

// `options.name` is "sgd" or "adamw"; `size` in floats, on the host.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, std::size_t size);
// The same on `device`, by libtorch's fused kernels, which read nothing back. Throws
// UnavailableError for libtorch before 2.4.
std::unique_ptr<Optimizer> make_device_optimizer(const OptimizerOptions& options, std::size_t size,
                                                 torch::Device device);

}  // namespace tandem::train
