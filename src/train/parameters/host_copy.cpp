#include "tandem/train/host_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tandem/core/error.hpp"

namespace tandem::train {

torch::Tensor flat_zeros(std::size_t size, torch::Device device) {
  return torch::zeros({static_cast<std::int64_t>(size)},
                      torch::TensorOptions(device).dtype(torch::kFloat32));
}

torch::Tensor on_host(const torch::Tensor& tensor) { return tensor.to(torch::kCPU); }

std::vector<torch::Tensor> copied_in_one_piece(const std::vector<torch::Tensor>& tensors,
                                               const torch::TensorOptions& options) {
  constexpr std::int64_t kAlignment = 64;
  const auto padded = [](const torch::Tensor& tensor) {
    const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  std::int64_t size = 0;
  for (const torch::Tensor& each : tensors) size += padded(each);
  const torch::Tensor whole = torch::empty({size}, options.dtype(torch::kUInt8));
  std::vector<torch::Tensor> copies;
  std::int64_t at = 0;
  for (const torch::Tensor& each : tensors) {
    copies.push_back(whole.narrow(0, at, static_cast<std::int64_t>(each.nbytes()))
                         .view(each.scalar_type())
                         .view(each.sizes()));
    copies.back().copy_(each, /*non_blocking=*/true);
    at += padded(each);
  }
  return copies;
}

std::vector<torch::Tensor> all_on_host(const std::vector<torch::Tensor>& tensors) {
  const auto elsewhere = std::find_if(tensors.begin(), tensors.end(),
                                      [](const torch::Tensor& each) { return !each.is_cpu(); });
  if (elsewhere == tensors.end()) return tensors;
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> copies =
      copied_in_one_piece(tensors, torch::TensorOptions().pinned_memory(true));
  on_host(torch::zeros({}, elsewhere->options()));  // follows the copies, and is awaited
  return copies;
}

torch::Tensor flat_in(std::shared_ptr<float> memory, const torch::Tensor& like) {
  float* const first = memory.get();
  return torch::from_blob(
      first, like.sizes(), [kept = std::move(memory)](void*) {}, like.options());
}

Span<float> floats_of(const torch::Tensor& flat) {
  if (!flat.is_cpu() || !flat.is_contiguous()) {
    throw InternalError("memory of the host was expected, a tensor on " + flat.device().str() +
                        " was found");
  }
  return {flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
}

}  // namespace tandem::train
