// What: flat float arrays on any device, and how MPI, hashes and checks see them as memory of the
// host.
// Owns: nothing; on_host's result owns its memory, or shares that of a tensor on the CPU.
// Threads: any. Throws: what libtorch throws; InternalError where a span of device memory is asked
// for.
#pragma once

#include "tandem/core/span.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

// fp32 zeros: an array of the arena's layout.
torch::Tensor flat_zeros(std::size_t size, torch::Device device = torch::kCPU);

// The tensor itself where it is on the CPU, else a copy, which waits for the device.
torch::Tensor on_host(const torch::Tensor& tensor);

// The elements of a flat fp32 tensor on the CPU.
Span<float> floats_of(const torch::Tensor& flat);

}  // namespace tandem::train
