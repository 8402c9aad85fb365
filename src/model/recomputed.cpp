#include "recomputed.hpp"

#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "kernel_calls.hpp"
#include "tandem/model/autocast.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

struct Block : torch::CustomClassHolder {
  explicit Block(torch::nn::AnyModule it) : module(std::move(it)) {}
  torch::nn::AnyModule module;
};

// Restores the running statistics of a block, which its first computation has already updated.
class KeptBuffers {
 public:
  explicit KeptBuffers(const torch::nn::AnyModule& block) : buffers_(block.ptr()->buffers()) {
    for (const torch::Tensor& each : buffers_) values_.push_back(each.clone());
  }
  void restore() const {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(values_[i]);
  }

 private:
  const std::vector<torch::Tensor> buffers_;
  std::vector<torch::Tensor> values_;
};

// Gradients are recorded in both computations, because layers choose their kernels by that.
struct Recomputed : public torch::autograd::Function<Recomputed> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const c10::intrusive_ptr<Block>& block) {
    const torch::AutoGradMode records(true);
    context->save_for_backward({x});
    context->saved_data["block"] = c10::IValue::make_capsule(block);
    const Autocast autocast = autocast_on(x.device().type());
    context->saved_data["autocast"] = autocast.enabled;
    context->saved_data["type"] = autocast.type;
    return block->module.forward(x.detach().requires_grad_()).detach();
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor x = context->get_saved_variables().front().detach().requires_grad_();
    const auto block = saved_as<Block>(context, "block");
    const torch::AutoGradMode records(true);
    const KeptBuffers buffers(block->module);
    torch::Tensor out;
    {
      const Precision precision = !context->saved_data["autocast"].toBool() ? Precision::kFp32
                                  : context->saved_data["type"].toScalarType() == torch::kFloat16
                                      ? Precision::kFp16
                                      : Precision::kBf16;
      const AutocastScope autocast(precision, x.device().type());
      out = block->module.forward(x);
    }
    torch::autograd::backward({out}, {gradients.front()});
    buffers.restore();  // not before: libtorch saves the statistics, and would see them change
    return {x.grad(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor forward_through(torch::nn::Sequential& blocks, torch::Tensor x, bool is_on) {
  if (!is_on || !torch::GradMode::is_enabled()) return blocks->forward(x);
  for (torch::nn::AnyModule& block : *blocks) {
    // If the input has no gradients, as after frozen layers, autograd would not call this backward.
    x = x.requires_grad() ? Recomputed::apply(x, c10::make_intrusive<Block>(block))
                          : block.forward(x);
  }
  return x;
}

}  // namespace tandem::model
