// Layers that several networks share. Throws c10::Error if a tensor has the wrong shape.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// 2x2 max-pooling of relu(x), with a quarter of the work: both only compare, so pooling first gives
// the same values and the same gradients, bit for bit.
inline torch::Tensor relu_max_pool(const torch::Tensor& x) {
  return torch::max_pool2d(x, 2).relu_();
}

}  // namespace tandem::model
