// The loops of the optimizers over host memory, in one pass. Apart from optimizer.cpp, because
// libtorch's headers cannot be compiled with the optimization of these loops.
#pragma once

#include <cstddef>

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

// average += share * (value - average), which leaves an average that is equal as it is.
void approach(float* average, const float* value, std::size_t size, float share);

}  // namespace tandem::train
