#include "tandem/train/device_bf16_all_reduce.hpp"

#include <functional>
#include <utility>

#include "tandem/comm/with_values.hpp"
#include "tandem/train/host_copy.hpp"

namespace tandem::train {
namespace {

Span<comm::Bfloat16> bfloat16s_of(const torch::Tensor& rounded) {
  return {reinterpret_cast<comm::Bfloat16*>(rounded.data_ptr<at::BFloat16>()),
          static_cast<std::size_t>(rounded.numel())};
}

}  // namespace

class DeviceBf16AllReduce::InFlight final : public comm::Request {
 public:
  InFlight(std::unique_ptr<comm::Request> sum, torch::Tensor rounded, torch::Tensor gradients)
      : sum_(std::move(sum)), rounded_(std::move(rounded)), gradients_(std::move(gradients)) {}
  ~InFlight() override {
    sum_.reset();  // waits
    try {
      take();
    } catch (const c10::Error&) {
      // A destructor must not throw; CUDA says at the next call what is wrong with the device.
    }
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  void wait() override {
    sum_->wait();
    take();
  }
  bool test() override {
    if (!sum_->test()) return false;
    wait();
    return true;
  }

 private:
  void take() {
    if (std::exchange(taken_, true)) return;
    const torch::NoGradGuard no_grad;
    gradients_.copy_(rounded_);
  }

  std::unique_ptr<comm::Request> sum_;
  torch::Tensor rounded_;
  torch::Tensor gradients_;
  bool taken_ = false;
};

DeviceBf16AllReduce::DeviceBf16AllReduce(comm::Collectives& inner, torch::Tensor gradients)
    : inner_(inner),
      gradients_(std::move(gradients)),
      errors_(flat_zeros(static_cast<std::size_t>(gradients_.numel()), gradients_.device())) {}

void DeviceBf16AllReduce::reset_error_feedback() {
  const torch::NoGradGuard no_grad;
  errors_.zero_();
}

bool DeviceBf16AllReduce::is_ours(const void* data, comm::DataType type) const {
  const std::less_equal<const void*> is_not_after;
  const float* first = gradients_.data_ptr<float>();
  return size() > 1 && type == comm::DataType::kFloat32 && is_not_after(first, data) &&
         !is_not_after(first + gradients_.numel(), data);
}

torch::Tensor DeviceBf16AllReduce::gradients_at(const void* data, std::size_t count) const {
  const std::int64_t first = static_cast<const float*>(data) - gradients_.data_ptr<float>();
  return gradients_.slice(0, first, first + static_cast<std::int64_t>(count));
}

torch::Tensor DeviceBf16AllReduce::round(const void* data, std::size_t count) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor gradients = gradients_at(data, count);
  const std::int64_t first = gradients.storage_offset() - gradients_.storage_offset();
  const torch::Tensor errors = errors_.slice(0, first, first + gradients.numel());
  errors.add_(gradients);
  torch::Tensor rounded = errors.to(torch::kBFloat16);
  // An overflow must not stay for ever.
  errors.sub_(rounded.to(torch::kFloat32)).nan_to_num_(0.0, 0.0, 0.0);
  return rounded;
}

void DeviceBf16AllReduce::do_all_reduce(void* data, std::size_t count, comm::DataType type,
                                        comm::Reduction op) {
  if (is_ours(data, type) && op == comm::Reduction::kSum) {
    const torch::Tensor rounded = round(data, count);
    inner_.all_reduce(bfloat16s_of(rounded));
    const torch::NoGradGuard no_grad;
    gradients_at(data, count).copy_(rounded);
    return;
  }
  comm::with_values(data, count, type, [&](auto values) { inner_.all_reduce(values, op); });
}

std::unique_ptr<comm::Request> DeviceBf16AllReduce::do_iall_reduce(void* data, std::size_t count,
                                                                   comm::DataType type) {
  if (is_ours(data, type)) {
    torch::Tensor rounded = round(data, count);
    auto sum = inner_.iall_reduce(bfloat16s_of(rounded));
    return std::make_unique<InFlight>(std::move(sum), std::move(rounded),
                                      gradients_at(data, count));
  }
  return comm::with_values(data, count, type,
                           [&](auto values) { return inner_.iall_reduce(values); });
}

void DeviceBf16AllReduce::do_broadcast(void* data, std::size_t bytes, int root) {
  inner_.broadcast(Span<std::uint8_t>(static_cast<std::uint8_t*>(data), bytes), root);
}

}  // namespace tandem::train
