#include "fused_norm.hpp"

#include "kernel_calls.hpp"
#include "layers.hpp"
#include "tandem/model/fused_use.hpp"

namespace tandem::model {
namespace {

int tests_on_cpu = 0;

struct FusedLayer {
  fused::NormInput input;
  fused::NormForm form;
};

struct FusedNorm : public torch::autograd::Function<FusedNorm> {
  // `weight`, `bias` and `residual` are those of the input, for autograd to know of; one that is
  // not there is `bias`.
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& /*weight*/, const torch::Tensor& /*bias*/,
                               const torch::Tensor& /*residual*/, const FusedLayer& layer) {
    const auto& [input, form] = layer;
    const fused::NormOutput output = fused::norm_forward(input, form);
    const bool pools_first = form.pool == fused::Pool::kBeforeNorm;
    context->save_for_backward(
        {pools_first ? output.pooled : x, output.choice, output.factors, input.residual});
    context->saved_data["height"] = x.size(2);
    context->saved_data["width"] = x.size(3);
    context->saved_data["pool"] = static_cast<std::int64_t>(form.pool);
    context->saved_data["activation"] = static_cast<std::int64_t>(form.activation);
    context->saved_data["has_weight"] = input.weight.defined();
    return output.y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const fused::NormForm form{static_cast<fused::Pool>(data["pool"].toInt()),
                               static_cast<fused::Activation>(data["activation"].toInt())};
    const fused::NormGradients found = fused::norm_backward(
        gradients.front(),
        {saved[0], saved[1], saved[2], saved[3], data["height"].toInt(), data["width"].toInt()},
        form);
    return {found.of_x, data["has_weight"].toBool() ? found.of_weight : torch::Tensor(),
            found.of_bias, saved[3].defined() ? found.of_residual : torch::Tensor(),
            torch::Tensor()};
  }
};

struct BiasedGelu : public torch::autograd::Function<BiasedGelu> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& bias) {
    context->save_for_backward({x, bias});
    return fused::bias_activation(x, bias, fused::Activation::kGelu);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    return {torch::Tensor(),
            fused::bias_gradient(gradients.front(), saved[0], saved[1], fused::Activation::kGelu)};
  }
};

// Kernels read 16 bytes at a time, which are eight values of the smallest type.
bool fills_pieces(const torch::Tensor& x) {
  return x.dim() == 4 && x.is_contiguous(at::MemoryFormat::ChannelsLast) && x.size(1) % 8 == 0;
}

}  // namespace

namespace fused {

bool is_used_on(torch::DeviceType device) {
  if (device == torch::kCPU) return tests_on_cpu > 0 && available(device);
  if (device != torch::kCUDA) return false;
  static const bool kHasKernels = available(torch::kCUDA);  // open_cuda() has brought them
  return kHasKernels;
}

UseOnCpu::UseOnCpu() { ++tests_on_cpu; }
UseOnCpu::~UseOnCpu() { --tests_on_cpu; }

}  // namespace fused

bool takes_fused_norm(const torch::Tensor& x, bool is_training) {
  if (!fused::is_used_on(x.device().type())) return false;
  return is_training && torch::GradMode::is_enabled() && fills_pieces(x) && x.size(2) > 1 &&
         x.size(3) > 1 && (x.size(0) > 1 || x.size(2) > 3 || x.size(3) > 3);
}

torch::Tensor fused_norm(const NormTensors& norm, const torch::Tensor& x, fused::NormForm form,
                         const torch::Tensor& residual) {
  const fused::NormInput input{x,
                               norm.weight,
                               norm.bias,
                               residual,
                               norm.running_mean,
                               norm.running_variance,
                               norm.momentum,
                               norm.epsilon};
  return FusedNorm::apply(x, norm.weight.defined() ? norm.weight : norm.bias, norm.bias,
                          residual.defined() ? residual : norm.bias, FusedLayer{input, form});
}

torch::Tensor biased_gelu(const Gelu& gelu, const torch::Tensor& x, const torch::Tensor& bias) {
  if (!x.requires_grad() && fills_pieces(x)) return BiasedGelu::apply(x, bias);
  return gelu(x + bias.to(x.scalar_type()).view({1, -1, 1, 1}));
}

}  // namespace tandem::model
