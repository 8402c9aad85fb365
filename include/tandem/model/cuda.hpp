// Opens libtorch's CUDA library, which is not linked: a gigabyte that only runs on GPUs load. It
// stays loaded. One thread at a time. Throws UnavailableError if libtorch has no CUDA or it does
// not work on this host.
#pragma once

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Call it before any function of libtorch that checks for CUDA, such as torch::manual_seed, because
// libtorch keeps the answer. Makes GPU `index` (CUDA's index among those that this process sees)
// the current device of this thread. Disables TF32, and selects cuDNN's deterministic kernels by
// shape, not by timing.
torch::Device open_cuda(int index);

}  // namespace tandem::model
