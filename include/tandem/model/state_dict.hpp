// What: a module's parameters and buffers by name, as Python's Module.state_dict() has them.
// Owns: nothing; a NamedTensor of state_dict() shares the module's memory. Threads: one at a time
// per module. Throws: DataError (weights that don't belong to the module).
#pragma once

#include <string>
#include <vector>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
  bool is_buffer = false;  // no parameter: BatchNorm's statistics, for instance
};

// Detached views in registration order, exactly Python's: a module's own parameters, its own
// buffers, then its children.
std::vector<NamedTensor> state_dict(const torch::nn::Module& module);

// Copies `tensors` into the module: every name once, none more, each of the module's shape; a
// floating-point tensor is converted to the type in the module. Either all are copied or, with one
// message that names every fault, none.
void load_state_dict(torch::nn::Module& module, const std::vector<NamedTensor>& tensors);

// SHA-256 (64 hex digits) of the row-major, little-endian bytes of all parameters and buffers, by
// name in bytewise order: independent of memory format and device.
std::string weights_sha256(const torch::nn::Module& module);

}  // namespace tandem::model
