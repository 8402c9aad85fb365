// What: the one place where libtorch's versions (1.13 and later) differ.
// Owns: nothing. Threads: autocast's state belongs to the calling thread. Throws: nothing.
#pragma once

#include <exception>
#include <string>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Of the library that is loaded, as it names itself: "1.13.0" for Debian's 1.13.1 package.
std::string torch_version();

// What to say where libtorch's error is a GPU's want of memory; "" for any other error.
std::string out_of_gpu_memory(const std::exception& error);

// Operations of libtorch that have no form with the same bits each time then throw. For the whole
// process.
void use_deterministic_algorithms();

// Autocast of operations on `device`, which is the CPU or CUDA, to `type`.
struct Autocast {
  bool enabled = false;
  torch::Dtype type = torch::kBFloat16;
};
Autocast autocast_on(torch::DeviceType device);
void set_autocast_on(torch::DeviceType device, Autocast autocast);

}  // namespace tandem::model
