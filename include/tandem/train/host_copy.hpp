// Flat float arrays on any device, and their view as host memory for MPI, hashes and checks.
// on_host() returns a copy, or shares the memory of a CPU tensor. Throws what libtorch throws;
// InternalError if a span of device memory is requested.
#pragma once

#include <memory>
#include <vector>

#include "tandem/core/span.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

// fp32 zeros: an array of the arena's layout.
torch::Tensor flat_zeros(std::size_t size, torch::Device device = torch::kCPU);
// A tensor of the form of `like` over `memory` of the host, which it keeps alive.
torch::Tensor flat_in(std::shared_ptr<float> memory, const torch::Tensor& like);

// The tensor itself if it is on the CPU, else a copy, which waits for the device.
torch::Tensor on_host(const torch::Tensor& tensor);

// The tensors themselves where they are on the CPU. Otherwise copies that lie in one piece of
// pinned memory, in row-major order; waits for the device once.
std::vector<torch::Tensor> all_on_host(const std::vector<torch::Tensor>& tensors);
// Such copies in memory of the host that `options` describe. The caller waits for the device.
std::vector<torch::Tensor> copied_in_one_piece(const std::vector<torch::Tensor>& tensors,
                                               const torch::TensorOptions& options);

// The elements of a flat fp32 tensor on the CPU.
Span<float> floats_of(const torch::Tensor& flat);

}  // namespace tandem::train
