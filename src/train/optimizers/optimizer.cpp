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
  Sgd(const OptimizerOptions& options, std::size_t size)
      : HostOptimizer(options), velocity_(flat_zeros(options.momentum == 0 ? 0 : size)) {}

  std::vector<StateArray> state() override {
    if (options_.momentum == 0) return {};
    return {{"velocity", velocity_}};
  }
  void use_state(const std::vector<torch::Tensor>& arrays) override {
    if (options_.momentum != 0) velocity_ = arrays.at(0);
  }

 private:
  void update(float* values, const float* gradients, std::size_t size,
              double learning_rate) override {
    const SgdFactors factors{static_cast<float>(learning_rate),
                             static_cast<float>(options_.momentum),
                             static_cast<float>(options_.weight_decay)};
    if (options_.momentum == 0) {
      sgd_plain(values, gradients, size, factors);
    } else if (options_.nesterov) {
      sgd_nesterov(values, gradients, velocity_.data_ptr<float>(), size, factors);
    } else {
      sgd_momentum(values, gradients, velocity_.data_ptr<float>(), size, factors);
    }
  }

  // PyTorch's first step sets the velocity to the gradient, which is what a velocity of zero gives.
  torch::Tensor velocity_;
};

class AdamW final : public HostOptimizer {
 public:
  AdamW(const OptimizerOptions& options, std::size_t size)
      : HostOptimizer(options), first_(flat_zeros(size)), second_(flat_zeros(size)) {}

  std::vector<StateArray> state() override {
    return {{"first_moment", first_}, {"second_moment", second_}};
  }
  void use_state(const std::vector<torch::Tensor>& arrays) override {
    first_ = arrays.at(0);
    second_ = arrays.at(1);
  }

 private:
  void update(float* values, const float* gradients, std::size_t size,
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
    adamw(values, gradients, first_.data_ptr<float>(), second_.data_ptr<float>(), size, factors);
  }

  torch::Tensor first_;
  torch::Tensor second_;
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
