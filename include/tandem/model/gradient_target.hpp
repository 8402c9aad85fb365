// Gradients in memory that stays, each element written once: the first gradient of a step replaces
// what `.grad` held, so nothing is zeroed before, and a kernel can write there instead of into a
// tensor that autograd then adds. For parameters of fp32 on the CPU. One thread at a time.
#pragma once

#include <memory>

#include "tandem/model/libtorch.hpp"

namespace torch::autograd {
struct Node;
}

namespace tandem::model {

// Made for a parameter whose `.grad` is dense, has the parameter's strides and stays the same.
// Until clear() is called, gradients are added as libtorch does it. The destructor ends it.
class GradientTarget {
 public:
  explicit GradientTarget(const torch::Tensor& parameter);
  ~GradientTarget();
  GradientTarget(GradientTarget&&) noexcept = default;
  GradientTarget& operator=(GradientTarget&&) = delete;
  GradientTarget(const GradientTarget&) = delete;
  GradientTarget& operator=(const GradientTarget&) = delete;

  // From now on `.grad` counts as zeros, whatever it holds.
  void clear();
  // Writes the zeros, unless a gradient has replaced them.
  void complete();

 private:
  friend class GradientOutput;
  struct Hook;
  static Hook* hook_of(const torch::Tensor& parameter);

  std::shared_ptr<torch::autograd::Node> accumulator_;  // autograd itself holds it weakly
  Hook* hook_ = nullptr;
};

// Where the backward pass of a layer writes the gradient of a parameter: its `.grad` if it has a
// GradientTarget, else a new tensor. Make one only if the gradient follows at once.
class GradientOutput {
 public:
  // A new tensor has `format`.
  GradientOutput(const torch::Tensor& parameter, at::MemoryFormat format);
  float* data() const { return memory_.data_ptr<float>(); }
  // Whether the gradient must be added to what data() holds.
  bool adds() const { return adds_; }
  // What backward returns to autograd; undefined if there is nothing left to add.
  torch::Tensor for_autograd() const { return is_in_place_ ? torch::Tensor() : memory_; }

 private:
  torch::Tensor memory_;
  bool is_in_place_ = false, adds_ = false;
};

}  // namespace tandem::model
