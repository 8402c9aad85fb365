// The elements of a bfloat16 tensor as the bits that kernels use.
#pragma once

#include <cstdint>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

inline std::uint16_t* bits_of(const torch::Tensor& tensor) {
  return static_cast<std::uint16_t*>(tensor.data_ptr());
}

}  // namespace tandem::model
