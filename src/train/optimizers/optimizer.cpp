#include "tandem/train/optimizer.hpp"

#include <cmath>

#include "host_optimizer.hpp"
#include "optimizer_loops.hpp"
#include "tandem/core/error.hpp"
#include "tandem/train/host_copy.hpp"

namespace tandem::train {
namespace {

class Sgd final : public HostOptimizer {
 public:
  // PyTorch's first step sets the velocity to the gradient, which is what a velocity of zero gives.
  Sgd(const OptimizerOptions& options, std::size_t size)
      : HostOptimizer(options, options.momentum == 0
                                   ? std::vector<StateArray>()
                                   : std::vector<StateArray>{{"velocity", flat_zeros(size)}}) {}

 private:
  void update(const torch::Tensor& values, const torch::Tensor& gradients,
              double learning_rate) override {
    const Span<float> value = floats_of(values);
    const float* const gradient = floats_of(gradients).data();
    const SgdFactors factors{static_cast<float>(learning_rate),
                             static_cast<float>(options_.momentum),
                             static_cast<float>(options_.weight_decay)};
    if (options_.momentum == 0) {
      sgd_plain(value.data(), gradient, value.size(), factors);
    } else if (options_.nesterov) {
      sgd_nesterov(value.data(), gradient, floats_of(array(0)).data(), value.size(), factors);
    } else {
      sgd_momentum(value.data(), gradient, floats_of(array(0)).data(), value.size(), factors);
    }
  }
};

class AdamW final : public HostOptimizer {
 public:
  AdamW(const OptimizerOptions& options, std::size_t size)
      : HostOptimizer(options,
                      {{"first_moment", flat_zeros(size)}, {"second_moment", flat_zeros(size)}}) {}

 private:
  void update(const torch::Tensor& values, const torch::Tensor& gradients,
              double learning_rate) override {
    const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps()));
    const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps()));
    const AdamFactors factors{static_cast<float>(1 - learning_rate * options_.weight_decay),
                              static_cast<float>(1 - options_.beta1),
                              static_cast<float>(options_.beta2),
                              static_cast<float>(1 - options_.beta2),
                              static_cast<float>(learning_rate / correction1),
                              static_cast<float>(std::sqrt(correction2)),
                              static_cast<float>(options_.epsilon)};
    const Span<float> value = floats_of(values);
    adamw(value.data(), floats_of(gradients).data(), floats_of(array(0)).data(),
          floats_of(array(1)).data(), value.size(), factors);
  }
};

}  // namespace

void Optimizer::use_state(const std::vector<torch::Tensor>&) {
  throw InternalError("this optimizer keeps its state in arrays of its own");
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, std::size_t size) {
  if (options.name == "sgd") return std::make_unique<Sgd>(options, size);
  if (options.name == "adamw") return std::make_unique<AdamW>(options, size);
  throw InternalError("optimizer " + options.name + " was not refused with the options");
}

}  // namespace tandem::train
