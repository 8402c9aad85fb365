// What: the arithmetic of the optimizers over memory of the host, in one pass.
// Owns: nothing. Threads: any. Throws: nothing.
//
// Apart from optimizer.cpp, because these loops are compiled with more optimization than libtorch's
// headers take.
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

}  // namespace tandem::train
