// Opens libtorch's CUDA library, which is not linked: a gigabyte that only runs on GPUs load. It
// stays loaded. One thread at a time. Throws UnavailableError if libtorch has no CUDA or it does
// not work on this host.
#pragma once

#include <cstdint>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

struct CudaSettings {
  // The same bits in each run: cuDNN's kernels that add in one order, chosen by shape. Otherwise it
  // times its kernels at the first batch of each shape and takes the fastest.
  bool is_deterministic = false;
  bool allows_tf32 = false;   // in products of fp32 by cuBLAS and cuDNN
  bool opens_kernels = true;  // fused_operators.hpp, which training uses
};

// Makes GPU `index` (CUDA's index among those that this process sees) the current device of this
// thread, and opens the fused operators.
//
// Call it before any function of libtorch that checks for CUDA, such as torch::manual_seed, because
// libtorch keeps the answer. Call it before the first backward pass of the process too, on any
// device: autograd then starts a thread for each device that it knows, and for none later. This
// function makes such a pass itself.
torch::Device open_cuda(int index, const CudaSettings& settings);

// The bytes that are free on an opened GPU; 0: this libtorch does not report them.
std::uint64_t free_memory_of(torch::Device gpu);

}  // namespace tandem::model
