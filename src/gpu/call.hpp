// The arguments of an operator's call. Operators take more of them than a function should, so they
// are read from libtorch's stack.
#pragma once

#include <ATen/core/stack.h>

#include <utility>
#include <vector>

#include "launch.hpp"

namespace tandem::gpu {

class Call {
 public:
  // `count`: of the operator's arguments.
  Call(torch::jit::Stack& stack, std::size_t count) : stack_(stack), count_(count) {}

  const c10::IValue& at(std::size_t i) const { return torch::jit::peek(stack_, i, count_); }
  torch::Tensor tensor(std::size_t i) const { return at(i).toTensor(); }
  // Undefined if there is none.
  torch::Tensor maybe(std::size_t i) const { return at(i).isNone() ? torch::Tensor() : tensor(i); }
  // Contiguous numbers of `type` on the device of `beside`; null if there are none.
  template <class Number>
  Number* array(std::size_t i, torch::ScalarType type, const torch::Tensor& beside) const {
    const torch::Tensor tensor = maybe(i);
    if (!tensor.defined()) return nullptr;
    TORCH_CHECK(tensor.scalar_type() == type && tensor.device() == beside.device() &&
                    tensor.is_contiguous(),
                "argument ", i, ": expected contiguous ", type, " on ", beside.device(), ", found ",
                tensor.scalar_type(), " on ", tensor.device());
    return static_cast<Number*>(tensor.data_ptr());
  }

  template <class... Results>
  void give(Results&&... results) {
    torch::jit::drop(stack_, count_);
    torch::jit::push(stack_, std::forward<Results>(results)...);
  }
  void give_nothing() { torch::jit::drop(stack_, count_); }

 private:
  torch::jit::Stack& stack_;
  const std::size_t count_;
};

using Operator = void(torch::jit::Stack& stack);
Operator augment, norm_forward, norm_backward, bias_activation, bias_gradient, cross_entropy,
    unscale_and_clip, add_up, restore_where, muon_begin, muon_stack, muon_end;

}  // namespace tandem::gpu
