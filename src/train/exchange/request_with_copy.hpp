// A Request that copies its result to another tensor on completion. Threads and errors as those of
// the request and of libtorch.
#pragma once

#include <memory>
#include <utility>

#include "tandem/comm/collectives.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

class RequestWithCopy final : public comm::Request {
 public:
  RequestWithCopy(std::unique_ptr<comm::Request> request, torch::Tensor from, torch::Tensor to)
      : request_(std::move(request)), from_(std::move(from)), to_(std::move(to)) {}
  ~RequestWithCopy() override {
    request_.reset();  // waits
    try {
      copy();
    } catch (const c10::Error&) {
      // A destructor must not throw; CUDA reports the error at its next call.
    }
  }
  RequestWithCopy(const RequestWithCopy&) = delete;
  RequestWithCopy& operator=(const RequestWithCopy&) = delete;

  void wait() override {
    request_->wait();
    copy();
  }
  bool test() override {
    if (!request_->test()) return false;
    wait();
    return true;
  }

 private:
  void copy() {
    if (std::exchange(is_copied_, true)) return;
    const torch::NoGradGuard no_grad;
    to_.copy_(from_);
  }

  std::unique_ptr<comm::Request> request_;
  torch::Tensor from_;
  torch::Tensor to_;
  bool is_copied_ = false;
};

}  // namespace tandem::train
