#include "tandem/train/device_bf16_all_reduce.hpp"

#include "request_with_copy.hpp"
#include "tandem/train/host_copy.hpp"

namespace tandem::train {
namespace {

comm::Buffer buffer_of(const torch::Tensor& rounded) {
  return {rounded.data_ptr<at::BFloat16>(), static_cast<std::size_t>(rounded.numel()),
          comm::DataType::kBfloat16};
}

}  // namespace

DeviceBf16AllReduce::DeviceBf16AllReduce(comm::Collectives& inner, torch::Tensor gradients)
    : ForwardingCollectives(inner),
      gradients_(std::move(gradients)),
      errors_(flat_zeros(static_cast<std::size_t>(gradients_.numel()), gradients_.device())) {}

void DeviceBf16AllReduce::reset_error_feedback() {
  const torch::NoGradGuard no_grad;
  errors_.zero_();
}

bool DeviceBf16AllReduce::is_ours(comm::Buffer values) const {
  return size() > 1 && values.begins_in({gradients_.data_ptr<float>(),
                                         static_cast<std::size_t>(gradients_.numel())});
}

torch::Tensor DeviceBf16AllReduce::gradients_at(comm::Buffer values) const {
  const std::int64_t first = values.floats().data() - gradients_.data_ptr<float>();
  return gradients_.slice(0, first, first + static_cast<std::int64_t>(values.size));
}

torch::Tensor DeviceBf16AllReduce::round(comm::Buffer values) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor gradients = gradients_at(values);
  const std::int64_t first = gradients.storage_offset() - gradients_.storage_offset();
  const torch::Tensor errors = errors_.slice(0, first, first + gradients.numel());
  errors.add_(gradients);
  torch::Tensor rounded = errors.to(torch::kBFloat16);
  // An overflow must not stay for ever.
  errors.sub_(rounded.to(torch::kFloat32)).nan_to_num_(0.0, 0.0, 0.0);
  return rounded;
}

void DeviceBf16AllReduce::do_all_reduce(comm::Buffer values) {
  if (!is_ours(values)) {
    inner().all_reduce(values);
    return;
  }
  const torch::Tensor rounded = round(values);
  inner().all_reduce(buffer_of(rounded));
  const torch::NoGradGuard no_grad;
  gradients_at(values).copy_(rounded);
}

std::unique_ptr<comm::Request> DeviceBf16AllReduce::do_iall_reduce(comm::Buffer values) {
  if (!is_ours(values)) return inner().iall_reduce(values);
  torch::Tensor rounded = round(values);
  auto sum = inner().iall_reduce(buffer_of(rounded));
  return std::make_unique<RequestWithCopy>(std::move(sum), std::move(rounded),
                                           gradients_at(values));
}

}  // namespace tandem::train
