// The kernels of libtandem_gpu.so, compiled as C++ from the same source, as the CPU implementations
// of the fused operators in the programs that link tandem_emulated_gpu. Blocks run one after
// another. Threads of a block are fibers that change at __syncthreads().
#pragma once

#include <cstdint>

#include "tandem/model/libtorch.hpp"

namespace tandem::gpu {

// Where the tests of kernels run: GPU 0 if testing::wants_gpu(), else the CPU.
torch::Device test_device();
inline torch::Tensor placed(const torch::Tensor& tensor) { return tensor.to(test_device()); }

}  // namespace tandem::gpu

namespace tandem::gpu::emulated {

// From the last block and thread to the first. Results must not change.
void run_backwards(bool backwards);

// Kernels started so far.
std::uint64_t launches();

}  // namespace tandem::gpu::emulated
