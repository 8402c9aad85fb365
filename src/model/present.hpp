// What: a tensor that a layer may not have, as functions of autograd take it. Private to the
// module. Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

inline c10::optional<torch::Tensor> present(const torch::Tensor& tensor) {
  if (!tensor.defined()) return c10::nullopt;
  return tensor;
}

}  // namespace tandem::model
