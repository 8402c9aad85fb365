// The loops of the optimizers over host memory, in one pass. Apart from optimizer.cpp, because
// libtorch's headers cannot be compiled with the optimization of these loops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/core/span.hpp"

namespace tandem::train {

struct SgdFactors {
  float learning_rate, momentum, weight_decay;
};
// All arrays hold `size` floats and do not overlap.
void sgd_plain(float* value, const float* gradient, std::size_t size, SgdFactors factors);
void sgd_momentum(float* value, const float* gradient, float* velocity, std::size_t size,
                  SgdFactors factors);
void sgd_nesterov(float* value, const float* gradient, float* velocity, std::size_t size,
                  SgdFactors factors);

struct AdamFactors {
  float keep, new_first, beta2, new_second, step_size, root_of_correction2, epsilon;
};
void adamw(float* value, const float* gradient, float* first, float* second, std::size_t size,
           AdamFactors factors);

struct LarsFactors {
  float learning_rate, momentum, weight_decay, trust_ratio;
  float of_change, of_velocity;  // their parts of the step: 0 and 1, or 1 and the momentum
};
void lars(float* value, const float* gradient, float* velocity, std::size_t size,
          LarsFactors factors);

struct LambMoments {
  float *first, *second;
};
struct LambFactors {
  float weight_decay, new_first, beta2, new_second, correction1, root_of_correction2, epsilon;
};
// Writes the update before its trust ratio into `direction`.
void lamb_direction(const float* value, const float* gradient, LambMoments moments,
                    float* direction, std::size_t size, LambFactors factors);
void subtract_scaled(float* value, const float* direction, std::size_t size, float factor);

// average += share * (value - average). An average that equals the value keeps its bits.
void approach(float* average, const float* value, std::size_t size, float share);
// A checksum to detect changed values, about as fast as reading them: Fletcher's sums (IEEE
// Transactions on Communications 30(1), 1982) of words of 32 bits, in lanes. One changed value
// always changes it. A rotation keeps two changed signs from canceling out.
std::uint64_t checksum(Span<const float> values);

}  // namespace tandem::train
