// What: finds what a TorchScript module does alike in training and evaluation although it should
// not. Private to the module. Owns: nothing. Threads: any. Throws: c10::Error.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstddef>

namespace tandem::model {

// Operators of BatchNorm (with running statistics) and dropout in forward() whose mode is a
// constant: torch.jit.trace writes down the one in which it was called.
std::size_t count_fixed_modes(const torch::jit::Module& module);

}  // namespace tandem::model
