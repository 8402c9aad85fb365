#include <vector>

#include "batch_statistics.hpp"
#include "fused_norm.hpp"
#include "kernel_calls.hpp"
#include "layers.hpp"
#include "tandem/kernels/normalization.hpp"

namespace tandem::model {
namespace {

struct NormalizedRelu : public torch::autograd::Function<NormalizedRelu> {
  // `weight` and `bias` are those of norm, for autograd to know of.
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& /*weight*/, const torch::Tensor& /*bias*/,
                               const c10::intrusive_ptr<ChannelFactors>& factors, bool pools) {
    const ImageSizes sizes(x);
    std::vector<std::int64_t> shape = x.sizes().vec();
    if (pools) shape[2] /= 2, shape[3] /= 2;
    torch::Tensor out = torch::empty(shape, x.options(), at::MemoryFormat::ChannelsLast);
    torch::Tensor argmax;
    if (pools) argmax = torch::empty(out.numel(), torch::kUInt8);
    for_each_image(sizes.images, [&](std::size_t, std::size_t image) {
      const std::uint16_t* in = bits_of(x) + image * sizes.pixels() * sizes.channels;
      if (pools) {
        const std::size_t to = image * sizes.pooled_pixels() * sizes.channels;
        kernels::pooled_normalized_relu(in, {sizes.height, sizes.width, sizes.channels},
                                        factors->normalization(), bits_of(out) + to,
                                        argmax.data_ptr<std::uint8_t>() + to);
      } else {
        kernels::normalized_relu(in, sizes.pixels(), sizes.channels, factors->normalization(),
                                 bits_of(out) + image * sizes.pixels() * sizes.channels);
      }
    });
    context->save_for_backward({x, argmax});
    context->saved_data["factors"] = c10::IValue::make_capsule(factors);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &argmax = saved[1];
    const bool pools = argmax.defined();
    const auto factors = saved_as<ChannelFactors>(context, "factors");
    const torch::Tensor above = bfloat16_images(gradients.front());
    const ImageSizes sizes(x);
    const std::size_t channels = sizes.channels;
    const std::size_t in_size = sizes.pixels() * channels;
    const std::size_t above_size = pools ? sizes.pooled_pixels() * channels : in_size;
    const std::uint8_t* argmaxes = pools ? argmax.data_ptr<std::uint8_t>() : nullptr;

    const auto layer_of = [&](std::size_t image) {
      return kernels::LayerGradient{bits_of(x) + image * in_size,
                                    bits_of(above) + image * above_size,
                                    pools ? argmaxes + image * above_size : nullptr};
    };
    const kernels::ImageSize size{sizes.height, sizes.width, channels};
    GradientSums sums(sizes);
    for_each_image(sizes.images, [&](std::size_t block, std::size_t image) {
      const kernels::ChannelSums to{factors->mean.data(), sums.sum(block), sums.product(block)};
      if (pools) {
        kernels::add_pooled_gradient_sums(layer_of(image), size, to);
      } else {
        kernels::add_gradient_sums(layer_of(image), sizes.pixels(), channels,
                                   factors->normalization(), to);
      }
    });

    const NormGradients norm = norm_gradients(*factors, sums.totals());
    torch::Tensor of_x = torch::empty_like(x);
    for_each_image(sizes.images, [&](std::size_t, std::size_t image) {
      std::uint16_t* out = bits_of(of_x) + image * in_size;
      if (pools) {
        kernels::pooled_normalized_gradient(layer_of(image), size, factors->normalization(),
                                            norm.correction(), out);
      } else {
        kernels::normalized_gradient(layer_of(image), sizes.pixels(), channels,
                                     factors->normalization(), norm.correction(), out);
      }
    });
    return {of_x, norm.of_weight, norm.of_bias, torch::Tensor(), torch::Tensor()};
  }
};

bool is_ours(const BatchNorm2d& norm, const torch::Tensor& x) {
  return fits_norm_kernels(norm->tensors(), x, norm->is_training());
}

torch::Tensor apply(BatchNorm2d& norm, const torch::Tensor& x, bool pools) {
  norm->num_batches_tracked += 1;
  return NormalizedRelu::apply(x, norm->weight, norm->bias, learn_factors(norm->tensors(), x),
                               pools);
}

torch::Tensor fused_relu(BatchNorm2d& norm, const torch::Tensor& x, fused::Pool pool) {
  norm->num_batches_tracked += 1;
  return fused_norm(norm->tensors(), x, {pool, fused::Activation::kRelu});
}

}  // namespace

torch::Tensor normalized_relu(BatchNorm2d& norm, const torch::Tensor& x) {
  if (takes_fused_norm(x, norm->is_training())) return fused_relu(norm, x, fused::Pool::kNone);
  if (!is_ours(norm, x)) return norm->forward(x).relu_();
  return apply(norm, x, false);
}

torch::Tensor pooled_normalized_relu(BatchNorm2d& norm, const torch::Tensor& x) {
  if (takes_fused_norm(x, norm->is_training())) {
    return fused_relu(norm, x, fused::Pool::kAfterNorm);
  }
  if (!is_ours(norm, x)) return relu_max_pool(norm->forward(x));
  return apply(norm, x, true);
}

}  // namespace tandem::model
