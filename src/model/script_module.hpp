// TorchScript modules as libtorch has them. Throws c10::Error.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstddef>
#include <string>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// The module in `bytes`, the content of `file`, on `device`. Throws DataError if it cannot be read.
torch::jit::Module load_script(const std::string& file, const std::string& bytes,
                               torch::Device device);

// Operators of BatchNorm (with running statistics) and dropout in forward() whose mode is a
// constant: torch.jit.trace writes down the one in which it was called.
std::size_t count_fixed_modes(const torch::jit::Module& module);

}  // namespace tandem::model
