#include "tandem/train/staged_collectives.hpp"

#include "request_with_copy.hpp"

namespace tandem::train {
namespace {

comm::Buffer staged_buffer(const torch::Tensor& staged, comm::Buffer values) {
  return {staged.data_ptr<std::uint8_t>(), values.size, values.type};
}

}  // namespace

torch::Tensor StagedCollectives::on_device(comm::Buffer values) const {
  return torch::from_blob(values.data, {static_cast<std::int64_t>(values.bytes())},
                          torch::TensorOptions(torch::kUInt8).device(device_));
}

torch::Tensor StagedCollectives::stage(comm::Buffer values) const {
  const torch::NoGradGuard no_grad;
  torch::Tensor staged =
      torch::empty({static_cast<std::int64_t>(values.bytes())},
                   torch::TensorOptions(torch::kUInt8).pinned_memory(device_.is_cuda()));
  staged.copy_(on_device(values));
  return staged;
}

void StagedCollectives::do_all_reduce(comm::Buffer values) {
  const torch::Tensor staged = stage(values);
  inner().all_reduce(staged_buffer(staged, values));
  const torch::NoGradGuard no_grad;
  on_device(values).copy_(staged);
}

std::unique_ptr<comm::Request> StagedCollectives::do_iall_reduce(comm::Buffer values) {
  torch::Tensor staged = stage(values);
  auto started = inner().iall_reduce(staged_buffer(staged, values));
  return std::make_unique<RequestWithCopy>(std::move(started), std::move(staged),
                                           on_device(values));
}

}  // namespace tandem::train
