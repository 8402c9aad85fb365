// Writes each element of a gradient once. The first gradient of a step replaces the values in
// `.grad`, so nothing is zeroed before. A kernel can write into `.grad` itself; otherwise it writes
// a tensor that autograd adds. For fp32 parameters on the CPU. One thread at a time.
#pragma once

#include <memory>

#include "tandem/model/libtorch.hpp"

namespace torch::autograd {
struct Node;
}

namespace tandem::model {

// For a parameter whose `.grad` is dense, has the parameter's strides and stays the same tensor.
// Before the first clear() and after the destructor, libtorch adds gradients as usual.
class GradientTarget {
 public:
  explicit GradientTarget(const torch::Tensor& parameter);
  ~GradientTarget();
  GradientTarget(GradientTarget&&) noexcept = default;
  GradientTarget& operator=(GradientTarget&&) = delete;
  GradientTarget(const GradientTarget&) = delete;
  GradientTarget& operator=(const GradientTarget&) = delete;

  // From now on `.grad` counts as zeros, whatever its values are.
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
// GradientTarget, else a new tensor. The caller must write the gradient before autograd continues.
class GradientOutput {
 public:
  // A new tensor has `format`.
  GradientOutput(const torch::Tensor& parameter, at::MemoryFormat format);
  float* data() const { return memory_.data_ptr<float>(); }
  // Whether the gradient must be added to what data() holds.
  bool adds() const { return adds_; }
  // The value that backward returns to autograd; undefined if nothing is left to add.
  torch::Tensor for_autograd() const { return is_in_place_ ? torch::Tensor() : memory_; }

 private:
  torch::Tensor memory_;
  bool is_in_place_ = false, adds_ = false;
};

}  // namespace tandem::model
