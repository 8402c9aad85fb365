#include "kernel_calls.hpp"
#include "layers.hpp"
#include "tandem/kernels/elementwise.hpp"
#include "tandem/model/gradient_target.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

kernels::ConvolutionSizes sizes_of(const torch::Tensor& x, const torch::Tensor& weight) {
  kernels::ConvolutionSizes sizes;
  sizes.images = size_of(x, 0);
  sizes.channels = size_of(x, 1);
  sizes.filters = size_of(weight, 0);
  sizes.height = sizes.width = sizes.side = 1;
  return sizes;
}

struct TileLinear : public torch::autograd::Function<TileLinear> {
  // `x` and what comes out are bfloat16.
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight,
                               const c10::optional<torch::Tensor>& bias, bool has_relu,
                               bool with_amx) {
    torch::Tensor out = torch::empty({x.size(0), weight.size(0)}, x.options());
    kernels::Convolution(sizes_of(x, weight), with_amx, for_each)
        .forward(bits_of(x), weight.data_ptr<float>(), bias ? bias->data_ptr<float>() : nullptr,
                 bits_of(out));
    if (has_relu) kernels::relu(bits_of(out), static_cast<std::size_t>(out.numel()));
    context->save_for_backward({x, weight, has_relu ? out : torch::Tensor()});
    context->saved_data["has_relu"] = has_relu;
    context->saved_data["with_amx"] = with_amx;
    context->saved_data["has_bias"] = bias.has_value();
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], &out = saved[2];
    const torch::Tensor above = gradients.front().contiguous();
    torch::Tensor passed = above;
    if (context->saved_data["has_relu"].toBool()) {
      passed = torch::empty_like(above);
      kernels::relu_gradient(bits_of(out), bits_of(above), bits_of(passed),
                             static_cast<std::size_t>(out.numel()));
    }
    const kernels::ConvolutionSizes sizes = sizes_of(x, weight);
    const kernels::Convolution layer(sizes, context->saved_data["with_amx"].toBool(), for_each);
    torch::Tensor of_x, of_bias;
    if (context->needs_input_grad(0)) {
      of_x = torch::empty(x.sizes(), x.options());
      layer.image_gradient(bits_of(passed), weight.data_ptr<float>(), bits_of(of_x));
    }
    torch::Tensor of_weight;
    if (context->needs_input_grad(1)) {
      const GradientOutput target(weight, at::MemoryFormat::Contiguous);
      layer.filter_gradient(bits_of(x), bits_of(passed), target.data(), target.adds());
      of_weight = target.for_autograd();
    }
    if (context->saved_data["has_bias"].toBool()) {
      of_bias = torch::zeros({weight.size(0)});
      kernels::add_rows(bits_of(passed), sizes.images, sizes.filters, of_bias.data_ptr<float>());
    }
    return {of_x, of_weight, of_bias, torch::Tensor(), torch::Tensor()};
  }
};

bool fits(const torch::nn::Linear& layer, const torch::Tensor& x) {
  const Autocast autocast = autocast_on(torch::kCPU);
  return torch::GradMode::is_enabled() && autocast.enabled && autocast.type == torch::kBFloat16 &&
         x.is_cpu() && layer->weight.is_cpu() && layer->weight.scalar_type() == torch::kFloat32 &&
         layer->weight.is_contiguous() && x.dim() == 2 && x.size(0) > 0 &&
         x.size(1) == layer->weight.size(1);
}

}  // namespace

torch::Tensor linear_with_tiles(torch::nn::Linear& layer, const torch::Tensor& x, bool has_relu,
                                bool with_amx) {
  return TileLinear::apply(x.to(torch::kBFloat16).contiguous(), layer->weight, present(layer->bias),
                           has_relu, with_amx);
}

torch::Tensor linear(torch::nn::Linear& layer, const torch::Tensor& x, bool with_amx) {
  if (!with_amx || !fits(layer, x)) return layer->forward(x);
  return linear_with_tiles(layer, x, false, with_amx);
}

torch::Tensor linear_relu(torch::nn::Linear& layer, const torch::Tensor& x, bool with_amx) {
  if (!with_amx || !fits(layer, x)) return layer->forward(x).relu_();
  return linear_with_tiles(layer, x, true, with_amx);
}

}  // namespace tandem::model
