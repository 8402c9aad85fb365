// What: opens libtorch's CUDA part, which is not linked: a gigabyte that only those load who
// compute on a GPU.
// Owns: nothing; the library stays loaded. Threads: one at a time. Throws: UnavailableError where
// libtorch has no such part, or it does not work here.
#pragma once

#include <string>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Before anything else of libtorch that asks whether there is CUDA, torch::manual_seed for
// instance: the answer is kept. Makes GPU `index`, counted as CUDA counts those that this process
// sees, the one that this thread computes on. fp32 is fp32 there (no TF32), and kernels are chosen
// by shape, not by timing, among those of cuDNN that give the same sums each time.
torch::Device open_cuda(int index);

}  // namespace tandem::model
