#include "tandem/train/kept_buffers.hpp"

#include "tandem/model/fused_operators.hpp"
#include "tandem/model/fused_use.hpp"

namespace tandem::train {

KeptBuffers::KeptBuffers(const model::Network& network)
    : network_(network), has_buffers_(!network.buffers().empty()) {}

// A TorchScript module may replace a buffer by another tensor, so the list is read anew.
void KeptBuffers::keep() {
  if (!has_buffers_) return;
  const torch::NoGradGuard no_grad;
  const std::vector<torch::Tensor> buffers = network_.buffers();
  if (keep_at_once(buffers)) return;
  kept_.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (kept_[i].defined() && kept_[i].sizes() == buffers[i].sizes()) {
      kept_[i].copy_(buffers[i]);
    } else {
      kept_[i] = buffers[i].clone();
    }
  }
}

// By one kernel, where a device has it and the last step kept the same buffers.
bool KeptBuffers::keep_at_once(const std::vector<torch::Tensor>& buffers) {
  const torch::Device device = buffers.front().device();
  if (!model::fused::is_used_on(device.type())) return false;
  if (!one_.defined()) one_ = torch::ones({}, device);
  if (kept_.size() != buffers.size()) return false;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (kept_[i].sizes() != buffers[i].sizes()) return false;
  }
  model::fused::restore_where(kept_, buffers, one_);
  return true;
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
  const std::vector<torch::Tensor> buffers = network_.buffers();
  if (model::fused::is_used_on(skipped.device().type())) {
    return model::fused::restore_where(buffers, kept_, skipped);
  }
  const torch::Tensor condition = skipped.reshape({}) != 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[i].copy_(torch::where(condition, kept_[i], buffers[i]));
  }
}

}  // namespace tandem::train
