// Parameters and buffers of a module by name, as in Python's Module.state_dict(). A NamedTensor
// shares the module's memory. One thread at a time per module. Throws DataError if weights do not
// belong to the module.
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

// Copies `tensors` into the module. Every name must appear once, with the module's shape;
// floating-point tensors are converted to the module's type. Copies all of them or, with one
// message about every fault, none.
void load_state_dict(torch::nn::Module& module, const std::vector<NamedTensor>& tensors);

// Fits weights of a network that was trained on other classes. If `tensors` lack the last layer's
// parameters, or have them for another number of classes (their first size), copies of the module's
// own replace them. Returns the names of these copies; empty if nothing changed.
std::vector<std::string> keep_head(const torch::nn::Module& module,
                                   std::vector<NamedTensor>& tensors);

// SHA-256 (64 hex digits) of the row-major, little-endian bytes of all parameters and buffers, by
// name in bytewise order: independent of memory format and device.
std::string weights_sha256(const torch::nn::Module& module);

}  // namespace tandem::model
