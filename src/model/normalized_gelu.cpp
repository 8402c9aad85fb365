#include "fused_norm.hpp"
#include "kernel_calls.hpp"
#include "layers.hpp"
#include "tandem/kernels/normalization.hpp"

namespace tandem::model {
namespace {

struct NormalizedGelu : public torch::autograd::Function<NormalizedGelu> {
  // `bias` is within factors, and here for autograd to know of.
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& /*bias*/,
                               const c10::intrusive_ptr<ChannelFactors>& factors,
                               const c10::intrusive_ptr<Gelu::Tables>& tables) {
    const ImageSizes sizes(x);
    torch::Tensor out = torch::empty_like(x);
    for_each_image(sizes.images, [&](std::size_t, std::size_t image) {
      const std::size_t at = image * sizes.pixels() * sizes.channels;
      kernels::normalized_gelu(tables->tables, bits_of(x) + at, sizes.pixels(), sizes.channels,
                               factors->normalization(), bits_of(out) + at);
    });
    context->save_for_backward({x});
    context->saved_data["factors"] = c10::IValue::make_capsule(factors);
    context->saved_data["tables"] = c10::IValue::make_capsule(tables);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor x = context->get_saved_variables().front();
    const auto factors = saved_as<ChannelFactors>(context, "factors");
    const auto tables = saved_as<Gelu::Tables>(context, "tables");
    const torch::Tensor above = bfloat16_images(gradients.front());
    const ImageSizes sizes(x);
    const std::size_t image_size = sizes.pixels() * sizes.channels;
    const torch::Tensor of_x = torch::empty_like(x);
    GradientSums sums(sizes);
    for_each_image(sizes.images, [&](std::size_t block, std::size_t image) {
      const std::size_t at = image * image_size;
      kernels::normalized_gelu_gradient(
          tables->tables, {bits_of(x) + at, bits_of(above) + at}, {sizes.pixels(), sizes.channels},
          factors->normalization(), bits_of(of_x) + at,
          {factors->mean.data(), sums.sum(block), sums.product(block)});
    });
    const NormGradients norm = norm_gradients(*factors, sums.totals());
    for_each_image(sizes.images, [&](std::size_t, std::size_t image) {
      const std::size_t at = image * image_size;
      kernels::correct_gradient(bits_of(x) + at, sizes.pixels(), sizes.channels,
                                factors->scale.data(), norm.correction(), bits_of(of_x) + at);
    });
    return {of_x, norm.of_bias, torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

const torch::Tensor& UnitScale::on(torch::Device device, std::int64_t channels) {
  if (device.is_cpu()) {
    ones_.reset();
  } else if (!ones_.defined() || ones_.device() != device) {
    ones_ = torch::ones({channels}, device);
  }
  return ones_;
}

torch::Tensor normalized_gelu(const NormTensors& norm, const Gelu& gelu, const torch::Tensor& x,
                              bool is_training) {
  if (takes_fused_norm(x, is_training)) {
    return fused_norm(norm, x, {fused::Pool::kNone, fused::Activation::kGelu});
  }
  if (!fits_norm_kernels(norm, x, is_training)) {
    if (norm.exchange && is_training) return gelu(synchronized_norm(norm, x));
    return gelu(torch::batch_norm(x, norm.weight, norm.bias, norm.running_mean,
                                  norm.running_variance, is_training, norm.momentum, norm.epsilon,
                                  false));
  }
  return NormalizedGelu::apply(x, norm.bias, learn_factors(norm, x), gelu.tables());
}

torch::Tensor pooled_normalized_gelu(const NormTensors& norm, const Gelu& gelu,
                                     const torch::Tensor& x, bool is_training) {
  if (takes_fused_norm(x, is_training)) {
    return fused_norm(norm, x, {fused::Pool::kBeforeNorm, fused::Activation::kGelu});
  }
  return normalized_gelu(norm, gelu, max_pool(x), is_training);
}

}  // namespace tandem::model
