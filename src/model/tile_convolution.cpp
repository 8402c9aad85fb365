#include "tile_convolution.hpp"

#include "kernel_calls.hpp"
#include "tandem/kernels/convolution.hpp"
#include "tandem/kernels/elementwise.hpp"
#include "tandem/model/gradient_target.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

// Measured beside oneDNN's convolutions: with fewer channels tiles are mostly zeros, and of larger
// images packing takes more than rearranging filters, which oneDNN does in each call.
constexpr std::size_t kMinChannels = 16;
constexpr std::size_t kMaxPixels = 64;
constexpr std::int64_t kImagesOfTile = 32;

bool has_few_pixels(const kernels::ConvolutionSizes& sizes) {
  return sizes.height * sizes.width <= kMaxPixels;
}

struct TileLayer {
  std::int64_t stride;
  std::int64_t padding;
  bool with_amx;
};

struct TileConvolution : public torch::autograd::Function<TileConvolution> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& filters,
                               const c10::optional<torch::Tensor>& bias, const TileLayer& layer) {
    const auto [stride, padding, with_amx] = layer;
    const kernels::ConvolutionSizes sizes = convolution_sizes(x, filters, stride, padding);
    torch::Tensor rounded;  // for libtorch
    if (!has_few_pixels(sizes)) rounded = filters.to(torch::kBFloat16);
    context->save_for_backward({x, filters, rounded});
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["with_amx"] = with_amx;
    context->saved_data["has_bias"] = bias.has_value();
    if (!has_few_pixels(sizes) && !kernels::folds(sizes)) {
      torch::Tensor rounded_bias;
      if (bias) rounded_bias = bias->to(torch::kBFloat16);
      return torch::conv2d(x, rounded, rounded_bias, stride, padding);
    }
    torch::Tensor out = empty_results(x, sizes);
    kernels::Convolution(sizes, with_amx, for_each)
        .forward(bits_of(x), filters.data_ptr<float>(), bias ? bias->data_ptr<float>() : nullptr,
                 bits_of(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &filters = saved[1], &rounded = saved[2];
    const std::int64_t stride = context->saved_data["stride"].toInt();
    const std::int64_t padding = context->saved_data["padding"].toInt();
    const torch::Tensor above = gradients.front().contiguous(at::MemoryFormat::ChannelsLast);
    const kernels::ConvolutionSizes sizes = convolution_sizes(x, filters, stride, padding);
    const kernels::Convolution convolution(sizes, context->saved_data["with_amx"].toBool(),
                                           for_each);

    torch::Tensor of_x;
    if (context->needs_input_grad(0) && has_few_pixels(sizes)) {
      of_x = torch::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast);
      convolution.image_gradient(bits_of(above), filters.data_ptr<float>(), bits_of(of_x));
    } else if (context->needs_input_grad(0)) {
      of_x = std::get<0>(at::convolution_backward(above, x, rounded, c10::nullopt, {stride, stride},
                                                  {padding, padding}, {1, 1}, false, {0, 0}, 1,
                                                  {true, false, false}));
    }
    torch::Tensor of_filters;
    if (context->needs_input_grad(1)) {
      const GradientOutput out(filters, at::MemoryFormat::ChannelsLast);
      convolution.filter_gradient(bits_of(x), bits_of(above), out.data(), out.adds());
      of_filters = out.for_autograd();
    }
    torch::Tensor of_bias;
    if (context->saved_data["has_bias"].toBool()) {
      of_bias = torch::zeros({filters.size(0)});
      kernels::add_rows(bits_of(above), sizes.images * sizes.out_height() * sizes.out_width(),
                        sizes.filters, of_bias.data_ptr<float>());
    }
    return {of_x, of_filters, of_bias, torch::Tensor()};
  }
};

// By channels, or by those of a filter row.
bool fills_tiles(const kernels::ConvolutionSizes& sizes) {
  const std::size_t together = kernels::folds(sizes) ? sizes.side * sizes.channels : sizes.channels;
  return together >= kMinChannels && sizes.filters >= kMinChannels;
}

}  // namespace

bool fits_tiles(const torch::nn::Conv2dImpl& convolution, const torch::Tensor& x) {
  const Autocast autocast = autocast_on(torch::kCPU);
  if (!torch::GradMode::is_enabled() || !autocast.enabled || autocast.type != torch::kBFloat16 ||
      !is_plain(convolution, x)) {
    return false;
  }
  const std::int64_t stride = convolution.options.stride()->front();
  const std::int64_t padding = padding_of(convolution)->front();
  const std::int64_t tiles = (x.size(0) + kImagesOfTile - 1) / kImagesOfTile;
  return fills_tiles(convolution_sizes(x, convolution.weight, stride, padding)) && x.size(0) > 0 &&
         4 * x.size(0) >= 3 * tiles * kImagesOfTile;
}

torch::Tensor convolve_with_tiles(const torch::nn::Conv2dImpl& convolution, const torch::Tensor& x,
                                  bool with_amx) {
  const auto& options = convolution.options;
  return TileConvolution::apply(
      x.to(torch::kBFloat16), convolution.weight, present(convolution.bias),
      TileLayer{options.stride()->front(), padding_of(convolution)->front(), with_amx});
}

}  // namespace tandem::model
