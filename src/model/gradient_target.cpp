#include "tandem/model/gradient_target.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

namespace tandem::model {
namespace {

void write_zeros(const torch::Tensor& gradient) {
  std::fill_n(gradient.data_ptr<float>(), gradient.numel(), 0.0F);
}

}  // namespace

// Autograd calls it before it adds a gradient to `.grad`, also if there is none to add.
struct GradientTarget::Hook final : torch::autograd::FunctionPreHook {
  explicit Hook(const torch::Tensor& its) : parameter(its) {}
  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& gradients) override {
    complete();
    return gradients;
  }
  void complete() {
    if (is_cleared) write_zeros(parameter.grad());
    is_cleared = false;
  }

  const torch::Tensor parameter;
  bool is_cleared = false;  // `.grad` counts as zeros
};

GradientTarget::GradientTarget(const torch::Tensor& parameter)
    : accumulator_(torch::autograd::impl::grad_accumulator(parameter)) {
  auto hook = std::make_unique<Hook>(parameter);
  hook_ = hook.get();
  accumulator_->add_pre_hook(std::move(hook));
}

GradientTarget::~GradientTarget() {
  if (!accumulator_) return;  // moved from
  auto& hooks = accumulator_->pre_hooks();
  hooks.erase(std::remove_if(hooks.begin(), hooks.end(),
                             [this](const auto& hook) { return hook.get() == hook_; }),
              hooks.end());
}

void GradientTarget::clear() { hook_->is_cleared = true; }
void GradientTarget::complete() { hook_->complete(); }

GradientTarget::Hook* GradientTarget::hook_of(const torch::Tensor& parameter) {
  const auto accumulator = torch::autograd::impl::try_get_grad_accumulator(parameter);
  if (!accumulator) return nullptr;
  for (const auto& hook : accumulator->pre_hooks()) {
    if (auto* found = dynamic_cast<Hook*>(hook.get())) return found;
  }
  return nullptr;
}

GradientOutput::GradientOutput(const torch::Tensor& parameter, at::MemoryFormat format) {
  if (GradientTarget::Hook* target = GradientTarget::hook_of(parameter)) {
    memory_ = parameter.grad();
    is_in_place_ = true;
    adds_ = !std::exchange(target->is_cleared, false);
  } else {
    memory_ = torch::empty(parameter.sizes(), torch::kFloat32, format);
  }
}

}  // namespace tandem::model
