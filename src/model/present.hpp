// An optional tensor of a layer in the form that autograd functions take.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

inline c10::optional<torch::Tensor> present(const torch::Tensor& tensor) {
  if (!tensor.defined()) return c10::nullopt;
  return tensor;
}

}  // namespace tandem::model
