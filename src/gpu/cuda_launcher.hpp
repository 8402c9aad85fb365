// Loads the kernels into a GPU and starts them, through CUDA's driver.
#pragma once

#include <memory>

#include "launch.hpp"

namespace tandem::gpu {

// For GPU `index` of those that this process sees. It must be the current GPU of this thread and
// have run a kernel. Takes compiled kernels from the cache, or compiles them, which takes seconds.
// Throws UnavailableError if they cannot be used.
std::unique_ptr<Launcher> make_cuda_launcher(int index);

}  // namespace tandem::gpu
