// Finds the operations of a TorchScript module that behave the same in training and in evaluation
// although they should differ. Throws c10::Error.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstddef>

namespace tandem::model {

// Operators of BatchNorm (with running statistics) and dropout in forward() whose mode is a
// constant: torch.jit.trace writes down the one in which it was called.
std::size_t count_fixed_modes(const torch::jit::Module& module);

}  // namespace tandem::model
