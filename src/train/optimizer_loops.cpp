#include "optimizer_loops.hpp"

#include <cmath>

#include "tandem/kernels/cpu_clones.hpp"

namespace tandem::train {

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

TANDEM_CLONES void adamw(float* __restrict value, const float* __restrict gradient,
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

TANDEM_CLONES void lars(float* __restrict value, const float* __restrict gradient,
                        float* __restrict velocity, std::size_t size, LarsFactors factors) {
  for (std::size_t i = 0; i < size; ++i) {
    const float change = (gradient[i] + factors.weight_decay * value[i]) * factors.trust_ratio;
    velocity[i] = factors.momentum * velocity[i] + change;
    const float step = factors.of_change * change + factors.of_velocity * velocity[i];
    value[i] -= factors.learning_rate * step;
  }
}

TANDEM_CLONES void lamb_direction(const float* __restrict value, const float* __restrict gradient,
                                  LambMoments moments, float* __restrict direction,
                                  std::size_t size, LambFactors factors) {
  float* __restrict const first = moments.first;
  float* __restrict const second = moments.second;
  for (std::size_t i = 0; i < size; ++i) {
    first[i] += factors.new_first * (gradient[i] - first[i]);
    second[i] = factors.beta2 * second[i] + factors.new_second * gradient[i] * gradient[i];
    const float denominator = std::sqrt(second[i]) / factors.root_of_correction2 + factors.epsilon;
    direction[i] = first[i] / factors.correction1 / denominator + factors.weight_decay * value[i];
  }
}

TANDEM_CLONES void subtract_scaled(float* __restrict value, const float* __restrict direction,
                                   std::size_t size, float factor) {
  for (std::size_t i = 0; i < size; ++i) value[i] -= factor * direction[i];
}

TANDEM_CLONES void approach(float* __restrict average, const float* __restrict value,
                            std::size_t size, float share) {
  for (std::size_t i = 0; i < size; ++i) average[i] += share * (value[i] - average[i]);
}

}  // namespace tandem::train
