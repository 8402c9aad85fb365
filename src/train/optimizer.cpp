#include "tandem/train/optimizer.hpp"

#include <cmath>

#include "cpu_clones.hpp"
#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

struct SgdFactors {
  float learning_rate, momentum, weight_decay;
};

TANDEM_CLONES void sgd_plain(float* __restrict value, const float* __restrict gradient,
                             std::size_t size, SgdFactors factors) {
  for (std::size_t i = 0; i < size; ++i) {
    const float change = gradient[i] + factors.weight_decay * value[i];
    value[i] -= factors.learning_rate * change;
  }
}

TANDEM_CLONES void sgd_momentum(float* __restrict value, const float* __restrict gradient,
                                float* __restrict velocity, std::size_t size, SgdFactors factors) {
  for (std::size_t i = 0; i < size; ++i) {
    const float change = gradient[i] + factors.weight_decay * value[i];
    velocity[i] = factors.momentum * velocity[i] + change;
    value[i] -= factors.learning_rate * velocity[i];
  }
}

TANDEM_CLONES void sgd_nesterov(float* __restrict value, const float* __restrict gradient,
                                float* __restrict velocity, std::size_t size, SgdFactors factors) {
  for (std::size_t i = 0; i < size; ++i) {
    const float change = gradient[i] + factors.weight_decay * value[i];
    velocity[i] = factors.momentum * velocity[i] + change;
    value[i] -= factors.learning_rate * (change + factors.momentum * velocity[i]);
  }
}

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, std::size_t size)
      : options_(options), velocity_(options.momentum == 0 ? 0 : size) {}

  std::vector<StateArray> state() override {
    if (velocity_.empty()) return {};
    return {{"velocity", Span<float>(velocity_)}};
  }

 private:
  void update(Span<float> values, Span<const float> gradients, double learning_rate) override {
    const SgdFactors factors{static_cast<float>(learning_rate),
                             static_cast<float>(options_.momentum),
                             static_cast<float>(options_.weight_decay)};
    if (options_.momentum == 0) {
      sgd_plain(values.data(), gradients.data(), values.size(), factors);
    } else if (options_.nesterov) {
      sgd_nesterov(values.data(), gradients.data(), velocity_.data(), values.size(), factors);
    } else {
      sgd_momentum(values.data(), gradients.data(), velocity_.data(), values.size(), factors);
    }
  }

  const OptimizerOptions options_;
  // PyTorch's first step sets the velocity to the gradient, which is what a velocity of zero gives.
  std::vector<float> velocity_;
};

struct AdamFactors {
  float keep, new_first, beta2, new_second, step_size, root_of_correction2, epsilon;
};

TANDEM_CLONES void adamw_loop(float* __restrict value, const float* __restrict gradient,
                              float* __restrict first, float* __restrict second, std::size_t size,
                              AdamFactors factors) {
  for (std::size_t i = 0; i < size; ++i) {
    const float decayed = value[i] * factors.keep;
    first[i] += factors.new_first * (gradient[i] - first[i]);
    second[i] = factors.beta2 * second[i] + factors.new_second * gradient[i] * gradient[i];
    const float denominator = std::sqrt(second[i]) / factors.root_of_correction2 + factors.epsilon;
    value[i] = decayed - factors.step_size * first[i] / denominator;
  }
}

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, std::size_t size)
      : options_(options), first_(size), second_(size) {}

  std::vector<StateArray> state() override {
    return {{"first_moment", Span<float>(first_)}, {"second_moment", Span<float>(second_)}};
  }

 private:
  void update(Span<float> values, Span<const float> gradients, double learning_rate) override {
    const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps()));
    const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps()));
    const AdamFactors factors{static_cast<float>(1 - learning_rate * options_.weight_decay),
                              static_cast<float>(1 - options_.beta1),
                              static_cast<float>(options_.beta2),
                              static_cast<float>(1 - options_.beta2),
                              static_cast<float>(learning_rate / correction1),
                              static_cast<float>(std::sqrt(correction2)),
                              static_cast<float>(options_.epsilon)};
    adamw_loop(values.data(), gradients.data(), first_.data(), second_.data(), values.size(),
               factors);
  }

  const OptimizerOptions options_;
  std::vector<float> first_;
  std::vector<float> second_;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, std::size_t size) {
  if (options.name == "sgd") return std::make_unique<Sgd>(options, size);
  if (options.name == "adamw") return std::make_unique<AdamW>(options, size);
  throw InternalError("optimizer " + options.name + " was not refused with the options");
}

}  // namespace tandem::train
