// Differences between versions of libtorch, 1.13 and later. Autocast state belongs to the calling
// thread.
#pragma once

#include <exception>
#include <string>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// The version of the loaded library: "1.13.0" for Debian's 1.13.1 package.
std::string torch_version();

// The message if libtorch's error is a lack of GPU memory; "" for other errors.
std::string out_of_gpu_memory(const std::exception& error);

// Nondeterministic operations of libtorch throw from now on, in the whole process.
void use_deterministic_algorithms();

// Autocast of operations on `device`, which is the CPU or CUDA, to `type`.
struct Autocast {
  bool enabled = false;
  torch::Dtype type = torch::kBFloat16;
};
Autocast autocast_on(torch::DeviceType device);
void set_autocast_on(torch::DeviceType device, Autocast autocast);

}  // namespace tandem::model
