#include "tandem/train/staged_collectives.hpp"

#include <utility>

#include "tandem/comm/with_values.hpp"

namespace tandem::train {
namespace {

std::uint8_t* staged_bytes(const torch::Tensor& staged) { return staged.data_ptr<std::uint8_t>(); }

}  // namespace

class StagedCollectives::InFlight final : public comm::Request {
 public:
  InFlight(std::unique_ptr<comm::Request> host, torch::Tensor staged, torch::Tensor device)
      : host_(std::move(host)), staged_(std::move(staged)), device_(std::move(device)) {}
  ~InFlight() override {
    host_.reset();  // waits
    try {
      copy_back();
    } catch (const c10::Error&) {
      // A destructor must not throw; CUDA says at the next call what is wrong with the device.
    }
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  void wait() override {
    host_->wait();
    copy_back();
  }
  bool test() override {
    if (!host_->test()) return false;
    copy_back();
    return true;
  }

 private:
  void copy_back() {
    if (std::exchange(copied_, true)) return;
    const torch::NoGradGuard no_grad;
    device_.copy_(staged_);
  }

  std::unique_ptr<comm::Request> host_;
  torch::Tensor staged_;
  torch::Tensor device_;
  bool copied_ = false;
};

StagedCollectives::StagedCollectives(comm::Collectives& host, torch::Device device)
    : host_(host), device_(device) {}

torch::Tensor StagedCollectives::on_device(void* data, std::size_t bytes) const {
  return torch::from_blob(data, {static_cast<std::int64_t>(bytes)},
                          torch::TensorOptions(torch::kUInt8).device(device_));
}

torch::Tensor StagedCollectives::stage(void* data, std::size_t bytes) const {
  const torch::NoGradGuard no_grad;
  torch::Tensor staged =
      torch::empty({static_cast<std::int64_t>(bytes)},
                   torch::TensorOptions(torch::kUInt8).pinned_memory(device_.is_cuda()));
  staged.copy_(on_device(data, bytes));
  return staged;
}

void StagedCollectives::do_all_reduce(void* data, std::size_t count, comm::DataType type,
                                      comm::Reduction op) {
  const std::size_t bytes = count * comm::bytes_of_type(type);
  const torch::Tensor staged = stage(data, bytes);
  comm::with_values(staged_bytes(staged), count, type,
                    [&](auto values) { host_.all_reduce(values, op); });
  const torch::NoGradGuard no_grad;
  on_device(data, bytes).copy_(staged);
}

std::unique_ptr<comm::Request> StagedCollectives::do_iall_reduce(void* data, std::size_t count,
                                                                 comm::DataType type) {
  const std::size_t bytes = count * comm::bytes_of_type(type);
  torch::Tensor staged = stage(data, bytes);
  auto started = comm::with_values(staged_bytes(staged), count, type,
                                   [&](auto values) { return host_.iall_reduce(values); });
  return std::make_unique<InFlight>(std::move(started), std::move(staged), on_device(data, bytes));
}

void StagedCollectives::do_broadcast(void* data, std::size_t bytes, int root) {
  const torch::Tensor staged = stage(data, bytes);
  host_.broadcast(Span<std::uint8_t>(staged_bytes(staged), bytes), root);
  const torch::NoGradGuard no_grad;
  on_device(data, bytes).copy_(staged);
}

}  // namespace tandem::train
