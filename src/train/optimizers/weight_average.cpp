#include "tandem/train/weight_average.hpp"

#include <utility>

#include "optimizer_loops.hpp"

namespace tandem::train {
namespace {

void exchange(const torch::Tensor& one, const torch::Tensor& other) {
  const torch::Tensor kept = one.clone();
  one.copy_(other);
  other.copy_(kept);
}

// On the device, which reads nothing back. The values of a skipped step may be NaN, so nothing is
// multiplied by 0.
void average_where(const torch::Tensor& average, const torch::Tensor& values, double share,
                   const torch::Tensor& skipped) {
  if (!skipped.defined()) {
    average.lerp_(values, share);
    return;
  }
  average.copy_(torch::where(skipped.reshape({}) == 1, average, average.lerp(values, share)));
}

}  // namespace

WeightAverage::WeightAverage(std::unique_ptr<Optimizer> inner, const ParameterArena& arena,
                             const model::Network& network, double decay)
    : inner_(std::move(inner)),
      values_(arena.flat_values()),
      network_(network),
      share_(1 - decay),
      weights_(values_.detach().clone()),
      buffers_(flat_buffers()) {}

std::vector<torch::Tensor> WeightAverage::buffers() const {
  std::vector<torch::Tensor> floats;
  for (const torch::Tensor& each : network_.buffers()) {
    if (each.scalar_type() == torch::kFloat32) floats.push_back(each);
  }
  return floats;
}

// A copy.
torch::Tensor WeightAverage::flat_buffers() const {
  std::vector<torch::Tensor> flat{torch::empty({0}, values_.options())};
  for (const torch::Tensor& each : buffers()) flat.push_back(each.detach().flatten());
  return torch::cat(flat);
}

void WeightAverage::step(const torch::Tensor& values, const torch::Tensor& gradients,
                         double learning_rate, const torch::Tensor& skipped) {
  inner_->step(values, gradients, learning_rate, skipped);
  average(values, skipped);
}

void WeightAverage::step_at(const torch::Tensor& values, const torch::Tensor& gradients,
                            const torch::Tensor& learning_rate, const torch::Tensor& skipped) {
  inner_->step_at(values, gradients, learning_rate, skipped);
  average(values, skipped);
}

void WeightAverage::average(const torch::Tensor& values, const torch::Tensor& skipped) {
  const torch::NoGradGuard no_grad;
  if (values.is_cpu() && !skipped.defined()) {
    approach(weights_.data_ptr<float>(), values.data_ptr<float>(),
             static_cast<std::size_t>(values.numel()), static_cast<float>(share_));
  } else {
    average_where(weights_, values, share_, skipped);
  }
  if (buffers_.numel() > 0) average_where(buffers_, flat_buffers(), share_, skipped);
}

std::vector<StateArray> WeightAverage::state() {
  std::vector<StateArray> arrays = inner_->state();
  arrays.push_back({is_exchanged_ ? "trained_weights" : "averaged_weights", weights_});
  return arrays;
}

std::vector<StateArray> WeightAverage::unlike_parameters() {
  std::vector<StateArray> arrays = inner_->unlike_parameters();
  if (buffers_.numel() == 0) return arrays;
  arrays.push_back({is_exchanged_ ? "trained_buffers" : "averaged_buffers", buffers_});
  return arrays;
}

void WeightAverage::swap_average() {
  const torch::NoGradGuard no_grad;
  is_exchanged_ = !is_exchanged_;
  exchange(values_, weights_);
  std::int64_t at = 0;
  for (const torch::Tensor& each : buffers()) {
    exchange(each, buffers_.narrow(0, at, each.numel()).view(each.sizes()));
    at += each.numel();
  }
}

}  // namespace tandem::train
