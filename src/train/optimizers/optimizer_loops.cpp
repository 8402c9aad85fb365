#include "optimizer_loops.hpp"

#include <cmath>
#include <cstring>

#include "tandem/core/digest.hpp"
#include "tandem/kernels/cpu_clones.hpp"

namespace tandem::train {
namespace {

constexpr std::size_t kLanes = 32;
struct LaneSums {
  std::uint32_t of_words[kLanes] = {};
  std::uint32_t of_sums[kLanes] = {};
};

// Full rows of lanes. Arrays of its own, because GCC keeps them in vector registers.
TANDEM_CLONES void add_words(const float* __restrict values, std::size_t rows, LaneSums& sums) {
  std::uint32_t of_words[kLanes];
  std::uint32_t of_sums[kLanes];
  std::memcpy(of_words, sums.of_words, sizeof of_words);
  std::memcpy(of_sums, sums.of_sums, sizeof of_sums);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::uint32_t word;
      std::memcpy(&word, values + row * kLanes + lane, sizeof word);
      of_words[lane] += word;
      of_sums[lane] = (of_sums[lane] << 7 | of_sums[lane] >> 25) + of_words[lane];
    }
  }
  std::memcpy(sums.of_words, of_words, sizeof of_words);
  std::memcpy(sums.of_sums, of_sums, sizeof of_sums);
}

}  // namespace

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

std::uint64_t checksum(Span<const float> values) {
  LaneSums sums;
  const std::size_t rows = values.size() / kLanes;
  add_words(values.data(), rows, sums);
  float rest[kLanes] = {};
  const std::size_t left = values.size() - rows * kLanes;
  if (left > 0) {
    std::memcpy(rest, values.data() + rows * kLanes, left * sizeof(float));
    add_words(rest, 1, sums);
  }
  return hash64(&sums, sizeof sums, values.size());
}

}  // namespace tandem::train
