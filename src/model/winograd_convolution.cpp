#include "winograd_convolution.hpp"

#include "kernel_calls.hpp"
#include "tandem/model/gradient_target.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

constexpr std::int64_t kFilterSide = 3;
// Measured beside oneDNN's convolutions. Fewer channels leave vectors empty, and then transforms
// take longer than products.
constexpr std::int64_t kMinFullChannels = 16;
// Products of a direct sum, without those of padding, divided by products of tiles. Small images
// fill few tiles.
constexpr double kMinGain = 1.4;
// Transforming filters takes as long as the products of a few tiles.
constexpr std::int64_t kMinTiles = 32;

torch::Dtype type_of(const kernels::WinogradForm& form) {
  return numbers_of(form) == kernels::ImageNumbers::kFp32 ? torch::kFloat32 : torch::kBFloat16;
}

struct WinogradLayer {
  std::int64_t padding;
  const kernels::WinogradForm* form;
};

struct WinogradConvolution : public torch::autograd::Function<WinogradConvolution> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& filters, const WinogradLayer& layer) {
    const torch::Tensor numbers = filters.to(type_of(*layer.form));
    context->save_for_backward({x, filters, numbers});
    context->saved_data["padding"] = layer.padding;
    context->saved_data["form"] = reinterpret_cast<std::int64_t>(layer.form);
    const kernels::ConvolutionSizes sizes = convolution_sizes(x, filters, 1, layer.padding);
    torch::Tensor out = empty_results(x, sizes);
    kernels::Winograd(sizes, *layer.form, for_each)
        .forward(x.data_ptr(), numbers.data_ptr(), out.data_ptr());
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &filters = saved[1], &numbers = saved[2];
    const std::int64_t address = context->saved_data["form"].toInt();
    // A context keeps numbers, not pointers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* form = reinterpret_cast<const kernels::WinogradForm*>(address);
    const torch::Tensor above = gradients.front().contiguous(at::MemoryFormat::ChannelsLast);
    const kernels::Winograd convolution(
        convolution_sizes(x, filters, 1, context->saved_data["padding"].toInt()), *form, for_each);
    torch::Tensor of_x;
    if (context->needs_input_grad(0)) {
      of_x = torch::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast);
      convolution.image_gradient(above.data_ptr(), numbers.data_ptr(), of_x.data_ptr());
    }
    torch::Tensor of_filters;
    if (context->needs_input_grad(1)) {
      const GradientOutput out(filters, at::MemoryFormat::ChannelsLast);
      convolution.filter_gradient(x.data_ptr(), above.data_ptr(), out.data(), out.adds());
      of_filters = out.for_autograd();
    }
    return {of_x, of_filters, torch::Tensor()};
  }
};

// Along one side: pairs of a result and a tap that lies inside the image, and points of tiles.
double gain_of_side(std::int64_t size, std::int64_t padding, std::int64_t tile) {
  const std::int64_t results = size + 2 * padding - kFilterSide + 1;
  const std::int64_t outside = padding == 0 ? 0 : 2;  // padding 1
  const std::int64_t points = (results + tile - 1) / tile * (tile + kFilterSide - 1);
  return static_cast<double>(results * kFilterSide - outside) / static_cast<double>(points);
}

}  // namespace

bool fits_winograd(const torch::nn::Conv2dImpl& convolution, const torch::Tensor& x,
                   const kernels::WinogradForm& form) {
  const auto& options = convolution.options;
  const Autocast autocast = autocast_on(torch::kCPU);
  const bool is_bf16 = type_of(form) == torch::kBFloat16;
  const bool has_type = autocast.enabled ? is_bf16 && autocast.type == torch::kBFloat16
                                         : !is_bf16 && x.scalar_type() == torch::kFloat32;
  if (!torch::GradMode::is_enabled() || !has_type || !is_plain(convolution, x) ||
      convolution.bias.defined() || options.kernel_size()->front() != kFilterSide ||
      options.stride()->front() != 1 ||
      std::min(x.size(1), convolution.weight.size(0)) < kMinFullChannels) {
    return false;
  }
  const std::int64_t padding = padding_of(convolution)->front();
  if (padding > 1) return false;
  const auto tile = static_cast<std::int64_t>(tile_side_of(form));
  const auto tiles_of = [&](std::int64_t size) { return (size + 2 * padding - 3 + tile) / tile; };
  return gain_of_side(x.size(2), padding, tile) * gain_of_side(x.size(3), padding, tile) >=
             kMinGain &&
         x.size(0) * tiles_of(x.size(2)) * tiles_of(x.size(3)) >= kMinTiles;
}

torch::Tensor convolve_by_winograd(const torch::nn::Conv2dImpl& convolution, const torch::Tensor& x,
                                   const kernels::WinogradForm& form) {
  return WinogradConvolution::apply(x.to(type_of(form)), convolution.weight,
                                    WinogradLayer{padding_of(convolution)->front(), &form});
}

}  // namespace tandem::model
