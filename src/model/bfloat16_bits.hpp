// What: a bfloat16 tensor's elements as the bits that kernels take. Private to the module.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <cstdint>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

inline std::uint16_t* bits_of(const torch::Tensor& tensor) {
  return static_cast<std::uint16_t*>(tensor.data_ptr());
}

}  // namespace tandem::model
