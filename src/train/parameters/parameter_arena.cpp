#include "tandem/train/parameter_arena.hpp"

#include <algorithm>

#include "tandem/comm/host_arrays.hpp"
#include "tandem/core/error.hpp"
#include "tandem/train/host_copy.hpp"

namespace tandem::train {
namespace {

std::vector<std::int64_t> strides_in_arena(const torch::Tensor& parameter, bool channels_last) {
  if (channels_last && parameter.dim() == 4) {
    const auto channels = parameter.size(1);
    const auto width = parameter.size(3);
    return {channels * parameter.size(2) * width, 1, width * channels, channels};
  }
  return torch::empty(parameter.sizes(), torch::kMeta).strides().vec();
}

}  // namespace

ParameterArena::ParameterArena(torch::nn::Module& network, bool channels_last,
                               torch::Device device) {
  torch::NoGradGuard no_grad;
  network.to(device);
  for (const auto& item : network.named_parameters()) {
    if (!item.value().requires_grad()) {
      if (channels_last && item.value().dim() == 4) {
        torch::Tensor frozen = item.value();
        frozen.set_data(frozen.contiguous(at::MemoryFormat::ChannelsLast));
      }
      continue;
    }
    const auto count = static_cast<std::size_t>(item.value().numel());
    slots_.push_back({item.key(), item.value(), 0, count});
  }
  std::reverse(slots_.begin(), slots_.end());
  for (Slot& slot : slots_) {
    slot.offset = size_;
    size_ += (slot.count + kAlignment - 1) / kAlignment * kAlignment;
  }
  values_ = flat_zeros(size_, device);
  gradients_ = flat_zeros(size_, device);
  for (Slot& slot : slots_) {
    const auto strides = strides_in_arena(slot.parameter, channels_last);
    const auto offset = static_cast<std::int64_t>(slot.offset);
    const auto value = values_.as_strided(slot.parameter.sizes(), strides, offset);
    value.copy_(slot.parameter);
    slot.parameter.set_data(value);
  }
  bind_gradients();
  if (!device.is_cpu()) return;
  for (const Slot& slot : slots_) targets_.emplace_back(slot.parameter);
}

void ParameterArena::bind_gradients() {
  for (Slot& slot : slots_) slot.parameter.mutable_grad() = view_like(slot, gradients_);
}

void ParameterArena::move_gradients(std::shared_ptr<float> memory) {
  const torch::NoGradGuard no_grad;
  torch::Tensor moved = flat_in(std::move(memory), gradients_);
  moved.copy_(gradients_);
  gradients_ = moved;
  has_shared_gradients_ = true;
  bind_gradients();
}

void ParameterArena::share_values(std::shared_ptr<comm::HostArrays> arrays) {
  const torch::NoGradGuard no_grad;
  host_arrays_ = std::move(arrays);
  const torch::Tensor shared = flat_in(host_arrays_->array(0), values_);
  if (host_arrays_->rank() == 0) shared.copy_(values_);
  host_arrays_->synchronize();
  values_ = shared;
  for (Slot& slot : slots_) slot.parameter.set_data(view_like(slot, values_));
}

std::size_t ParameterArena::parameter_count() const {
  std::size_t count = 0;
  for (const Slot& slot : slots_) count += slot.count;
  return count;
}

void ParameterArena::zero_gradients() {
  const torch::NoGradGuard no_grad;
  gradients_.zero_();
  for (model::GradientTarget& target : targets_) target.complete();
}

void ParameterArena::begin_gradients() {
  if (targets_.empty()) return zero_gradients();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    targets_[slot].clear();
    // No gradient follows for a frozen parameter, and its bucket does not wait for one.
    if (!slots_[slot].parameter.requires_grad()) targets_[slot].complete();
  }
}

void ParameterArena::complete_gradients() {
  for (model::GradientTarget& target : targets_) target.complete();
}

torch::Tensor ParameterArena::view_like(const Slot& slot, const torch::Tensor& flat) const {
  // as_strided() counts from the start of the memory. `flat` may begin later.
  const std::int64_t offset = flat.storage_offset() + static_cast<std::int64_t>(slot.offset);
  return flat.as_strided(slot.parameter.sizes(), slot.parameter.strides(), offset);
}

void ParameterArena::check_views() const {
  for (const Slot& slot : slots_) {
    const bool value_here =
        slot.parameter.data_ptr<float>() == values_.data_ptr<float>() + slot.offset;
    const bool gradient_here =
        slot.parameter.grad().defined() &&
        slot.parameter.grad().data_ptr<float>() == gradients_.data_ptr<float>() + slot.offset;
    if (!value_here || !gradient_here) {
      throw InternalError("parameter " + slot.name + ": its " + (value_here ? "gradient" : "data") +
                          " was replaced and is no longer part of the arena");
    }
  }
}

}  // namespace tandem::train
