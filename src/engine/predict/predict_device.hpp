// The device of tandem predict, which is one process without MPI.
#pragma once

#include "tandem/device/gpu_binding.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::app {

// The GPU that is asked for, ready to compute, or the CPU. Call it before other code of libtorch
// that checks for CUDA. Warns if --device auto takes the CPU in place of a GPU that does not work.
// Throws UnavailableError if a GPU is required and cannot be used.
torch::Device open_own_device(const device::DeviceRequest& request);

}  // namespace tandem::app
