// Runs the kernels of libtandem_gpu.so on the CPU, compiled as C++ from the same source. One thread
// at a time. Throws std::out_of_range if there is no such kernel.
#pragma once

#include <string>

namespace tandem::gpu::emulated {

struct Grid {
  std::string kernel;
  unsigned blocks = 1, tiles = 1, threads = 1;
};

// `backwards`: from the last block and thread to the first, which must not change results.
void run_kernel(const Grid& grid, const void* arguments, bool backwards);

}  // namespace tandem::gpu::emulated
