#include "tile_linear.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include "bfloat16_bits.hpp"
#include "for_each.hpp"
#include "tandem/kernels/bfloat16.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

kernels::ConvolutionSizes sizes_of(const torch::Tensor& x, const torch::Tensor& weight) {
  kernels::ConvolutionSizes sizes;
  sizes.images = static_cast<std::size_t>(x.size(0));
  sizes.channels = static_cast<std::size_t>(x.size(1));
  sizes.filters = static_cast<std::size_t>(weight.size(0));
  sizes.height = sizes.width = sizes.side = 1;
  return sizes;
}

// What is no number passes ReLU.
bool passes_relu(std::uint16_t bits) { return !(kernels::float_of_bfloat16(bits) <= 0); }

torch::Tensor masked(const torch::Tensor& gradient, const torch::Tensor& out) {
  torch::Tensor passed = torch::empty_like(gradient);
  const std::uint16_t *from = bits_of(gradient), *by = bits_of(out);
  std::uint16_t* to = bits_of(passed);
  const std::int64_t count = out.numel();
  for (std::int64_t i = 0; i < count; ++i) to[i] = passes_relu(by[i]) ? from[i] : 0;
  return passed;
}

torch::Tensor sum_of_rows(const torch::Tensor& values) {
  torch::Tensor sums = torch::zeros({values.size(1)});
  float* to = sums.data_ptr<float>();
  const std::uint16_t* from = bits_of(values);
  const std::int64_t rows = values.size(0), columns = values.size(1);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      to[column] += kernels::float_of_bfloat16(*from++);
    }
  }
  return sums;
}

struct TileLinear : public torch::autograd::Function<TileLinear> {
  // `x` and what comes out are bfloat16.
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               bool has_relu, bool with_amx) {
    const torch::Tensor rounded = weight.to(torch::kBFloat16);
    torch::Tensor out = torch::empty({x.size(0), weight.size(0)}, x.options());
    kernels::Convolution(sizes_of(x, weight), with_amx, for_each)
        .forward(bits_of(x), bits_of(rounded), bias.defined() ? bias.data_ptr<float>() : nullptr,
                 bits_of(out));
    if (has_relu) {
      std::uint16_t* bits = bits_of(out);
      for (const std::uint16_t* end = bits + out.numel(); bits < end; ++bits) {
        if (!passes_relu(*bits)) *bits = 0;
      }
    }
    context->save_for_backward({x, rounded, out});
    context->saved_data["has_relu"] = has_relu;
    context->saved_data["with_amx"] = with_amx;
    context->saved_data["has_bias"] = bias.defined();
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], &out = saved[2];
    const torch::Tensor above = gradients.front().contiguous();
    const torch::Tensor passed =
        context->saved_data["has_relu"].toBool() ? masked(above, out) : above;
    const kernels::Convolution layer(sizes_of(x, weight), context->saved_data["with_amx"].toBool(),
                                     for_each);
    torch::Tensor of_x, of_bias;
    if (context->needs_input_grad(0)) {
      of_x = torch::empty(x.sizes(), x.options());
      layer.image_gradient(bits_of(passed), bits_of(weight), bits_of(of_x));
    }
    const torch::Tensor of_weight = torch::empty(weight.sizes(), torch::kFloat32);
    layer.filter_gradient(bits_of(x), bits_of(passed), of_weight.data_ptr<float>());
    if (context->saved_data["has_bias"].toBool()) of_bias = sum_of_rows(passed);
    return {of_x, of_weight, of_bias, torch::Tensor(), torch::Tensor()};
  }
};

bool fits(const torch::nn::Linear& layer, const torch::Tensor& x) {
  const Autocast autocast = autocast_on(torch::kCPU);
  return torch::GradMode::is_enabled() && autocast.enabled && autocast.type == torch::kBFloat16 &&
         x.is_cpu() && layer->weight.is_cpu() && x.dim() == 2 && x.size(0) > 0 &&
         x.size(1) == layer->weight.size(1);
}

}  // namespace

torch::Tensor linear_with_tiles(torch::nn::Linear& layer, const torch::Tensor& x, bool has_relu,
                                bool with_amx) {
  return TileLinear::apply(x.to(torch::kBFloat16).contiguous(), layer->weight, layer->bias,
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
