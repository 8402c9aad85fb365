#include "tandem/train/kept_buffers.hpp"

namespace tandem::train {

KeptBuffers::KeptBuffers(const model::Network& network)
    : network_(network), has_buffers_(!network.buffers().empty()) {}

// A TorchScript module may replace a buffer by another tensor, so the list is read anew.
void KeptBuffers::keep() {
  if (!has_buffers_) return;
  const torch::NoGradGuard no_grad;
  const std::vector<torch::Tensor> buffers = network_.buffers();
  kept_.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (kept_[i].defined() && kept_[i].sizes() == buffers[i].sizes()) {
      kept_[i].copy_(buffers[i]);
    } else {
      kept_[i] = buffers[i].clone();
    }
  }
}

void KeptBuffers::restore() {
  if (kept_.empty()) return;
  const torch::NoGradGuard no_grad;
  const std::vector<torch::Tensor> buffers = network_.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(kept_[i]);
}

void KeptBuffers::restore_where(const torch::Tensor& skipped) {
  if (kept_.empty()) return;
  const torch::NoGradGuard no_grad;
  const torch::Tensor condition = skipped.reshape({}) != 0;
  const std::vector<torch::Tensor> buffers = network_.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[i].copy_(torch::where(condition, kept_[i], buffers[i]));
  }
}

}  // namespace tandem::train
