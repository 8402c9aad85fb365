// What: what several networks are built from. Private to the module.
// Owns: nothing. Threads: any. Throws: c10::Error where a tensor does not fit.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// 2x2 max-pooling of relu(x), with a quarter of the work: both only compare, so pooling first gives
// the same values and the same gradients, bit for bit.
inline torch::Tensor relu_max_pool(const torch::Tensor& x) {
  return torch::max_pool2d(x, 2).relu_();
}

}  // namespace tandem::model
