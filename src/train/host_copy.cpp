#include "tandem/train/host_copy.hpp"

#include "tandem/core/error.hpp"

namespace tandem::train {

torch::Tensor flat_zeros(std::size_t size, torch::Device device) {
  return torch::zeros({static_cast<std::int64_t>(size)},
                      torch::TensorOptions(device).dtype(torch::kFloat32));
}

torch::Tensor on_host(const torch::Tensor& tensor) { return tensor.to(torch::kCPU); }

Span<float> floats_of(const torch::Tensor& flat) {
  if (!flat.is_cpu() || !flat.is_contiguous()) {
    throw InternalError("memory of the host was expected, a tensor on " + flat.device().str() +
                        " was found");
  }
  return {flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
}

}  // namespace tandem::train
