#include "tandem/kernels/pooled_convolution.hpp"

#include <algorithm>
#include <vector>

#include "kernel_calls.hpp"
#include "layers.hpp"
#include "tandem/kernels/convolution.hpp"
#include "tandem/kernels/elementwise.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

// Where products of bfloat16 are fast, libtorch or AMX tiles are faster with more channels:
// measured with 6.
constexpr std::int64_t kMaxChannelsInBf16 = 4;

kernels::Strides strides_of(const torch::Tensor& tensor) {
  const auto stride = [&tensor](std::int64_t k) {
    return static_cast<std::size_t>(tensor.stride(k));
  };
  return {stride(0), stride(1), stride(2), stride(3)};
}

kernels::PooledConvolutionSizes sizes_of(const torch::Tensor& x, const torch::Tensor& filters,
                                         std::int64_t padding) {
  kernels::PooledConvolutionSizes sizes;
  sizes.channels = size_of(x, 1);
  sizes.height = size_of(x, 2);
  sizes.width = size_of(x, 3);
  sizes.filters = size_of(filters, 0);
  sizes.padding = static_cast<std::size_t>(padding);
  return sizes;
}

struct ConvolveAndPool : public torch::autograd::Function<ConvolveAndPool> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& filters, const torch::Tensor& bias,
                               std::int64_t padding, bool rounds) {
    const kernels::PooledConvolutionSizes sizes = sizes_of(x, filters, padding);
    const kernels::PooledConvolution layer(sizes, filters.data_ptr<float>(), strides_of(filters),
                                           bias.data_ptr<float>(), rounds);
    const std::vector<std::int64_t> shape = {x.size(0), filters.size(0),
                                             static_cast<std::int64_t>(sizes.out_height()),
                                             static_cast<std::int64_t>(sizes.out_width())};
    torch::Tensor out = torch::empty(shape);
    torch::Tensor argmax = torch::empty(shape, torch::kUInt8);
    for_each_image_block(size_of(x, 0), [&](std::size_t, std::size_t first, std::size_t images) {
      const kernels::Strides strides = strides_of(x);
      const std::size_t to = first * strides_of(out).item;
      layer.forward({x.data_ptr<float>() + first * strides.item, strides, images},
                    out.data_ptr<float>() + to, argmax.data_ptr<std::uint8_t>() + to);
    });
    context->save_for_backward({x, filters, bias, argmax});
    context->saved_data["padding"] = padding;
    context->saved_data["rounds"] = rounds;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &filters = saved[1], &bias = saved[2], &argmax = saved[3];
    const kernels::PooledConvolution layer(
        sizes_of(x, filters, context->saved_data["padding"].toInt()), filters.data_ptr<float>(),
        strides_of(filters), bias.data_ptr<float>(), context->saved_data["rounds"].toBool());
    const torch::Tensor gradient = gradients.front().contiguous();
    torch::Tensor of_images;
    if (context->needs_input_grad(0)) of_images = torch::empty(x.sizes());
    torch::Tensor of_filters = torch::empty_like(filters);
    torch::Tensor of_bias = torch::empty_like(bias);

    const std::size_t blocks = image_blocks(size_of(x, 0));
    const std::size_t sums_size = layer.sums_size();
    std::vector<float> sums(std::max<std::size_t>(blocks, 1) * sums_size);
    for_each_image_block(
        size_of(x, 0), [&](std::size_t block, std::size_t first, std::size_t images) {
          const kernels::Strides strides = strides_of(x);
          const std::size_t from = first * strides_of(gradient).item;
          layer.backward({x.data_ptr<float>() + first * strides.item, strides, images},
                         gradient.data_ptr<float>() + from, argmax.data_ptr<std::uint8_t>() + from,
                         &sums[block * sums_size],
                         of_images.defined()
                             ? of_images.data_ptr<float>() + first * strides_of(of_images).item
                             : nullptr);
        });
    for (std::size_t block = 1; block < blocks; ++block) {
      const float* of_block = &sums[block * sums_size];
      for (std::size_t i = 0; i < sums_size; ++i) sums[i] += of_block[i];
    }
    layer.read_sums(sums.data(), of_filters.data_ptr<float>(), strides_of(of_filters),
                    of_bias.data_ptr<float>());
    return {of_images, of_filters, of_bias, torch::Tensor(), torch::Tensor()};
  }
};

// Whether the kernel computes; libtorch computes the rest and reports errors.
bool fits(const Conv2d& convolution, const torch::Tensor& x) {
  constexpr auto kSide = static_cast<std::int64_t>(kernels::PooledConvolutionSizes::kSide);
  const auto& options = convolution->options;
  const torch::Tensor& filters = convolution->weight;
  if (!x.is_cpu() || x.scalar_type() != torch::kFloat32 || x.dim() != 4 || !filters.is_cpu() ||
      !convolution->bias.defined() || options.groups() != 1 || x.size(1) != filters.size(1) ||
      !all_are(options.kernel_size(), kSide) || !all_are(options.stride(), 1) ||
      !all_are(options.dilation(), 1)) {
    return false;
  }
  const std::int64_t padding = padding_of(*convolution)->front();
  const std::int64_t least = kSide + 1;  // for one pooled result
  return all_are(padding_of(*convolution), padding) && x.size(2) + 2 * padding >= least &&
         x.size(3) + 2 * padding >= least;
}

// As tiles want it.
struct PixelsOfPlanes : public torch::autograd::Function<PixelsOfPlanes> {
  static torch::Tensor forward(AutogradContext*, const torch::Tensor& planes) {
    torch::Tensor out =
        torch::empty(planes.sizes(), torch::kBFloat16, at::MemoryFormat::ChannelsLast);
    for_each(size_of(planes, 0), [&, size = strides_of(planes).item](std::size_t image) {
      kernels::pixels_of_planes(planes.data_ptr<float>() + image * size, size_of(planes, 1),
                                size_of(planes, 2) * size_of(planes, 3),
                                bits_of(out) + image * size);
    });
    return out;
  }

  static variable_list backward(AutogradContext*, variable_list gradients) {
    const torch::Tensor pixels = gradients.front().contiguous(at::MemoryFormat::ChannelsLast);
    const torch::Tensor out = torch::empty(pixels.sizes());
    for_each(size_of(out, 0), [&, size = strides_of(out).item](std::size_t image) {
      kernels::planes_of_pixels(bits_of(pixels) + image * size, size_of(out, 1),
                                size_of(out, 2) * size_of(out, 3),
                                out.data_ptr<float>() + image * size);
    });
    return {out};
  }
};

bool is_for_tiles(const torch::Tensor& x) {
  return kernels::has_amx() && torch::GradMode::is_enabled() && x.dim() == 4 && x.is_cpu() &&
         x.scalar_type() == torch::kFloat32 && x.is_contiguous();
}

}  // namespace

torch::Tensor convolve_and_pool(Conv2d& convolution, const torch::Tensor& x) {
  const bool is_bf16 = autocast_on(torch::kCPU).enabled;
  const bool is_faster = !is_bf16 || !kernels::has_fast_bf16() || x.size(1) <= kMaxChannelsInBf16;
  const bool is_ours = torch::GradMode::is_enabled() && fits(convolution, x) && is_faster;
  if (!is_ours) {
    return relu_max_pool(
        convolution->forward(is_bf16 && is_for_tiles(x) ? PixelsOfPlanes::apply(x) : x));
  }
  return ConvolveAndPool::apply(x, convolution->weight, convolution->bias,
                                padding_of(*convolution)->front(), is_bf16);
}

}  // namespace tandem::model
