#include "batch_statistics.hpp"
#include "fused_norm.hpp"
#include "kernel_calls.hpp"
#include "layers.hpp"
#include "tandem/kernels/normalization.hpp"

namespace tandem::model {
namespace {

// relu(norm(x) + residual), or norm(x) where residual is undefined.
struct NormalizedSum : public torch::autograd::Function<NormalizedSum> {
  // `weight` and `bias` are those of norm. They are parameters here so that autograd tracks them.
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& /*weight*/, const torch::Tensor& /*bias*/,
                               const c10::intrusive_ptr<ChannelFactors>& factors,
                               const c10::optional<torch::Tensor>& residual) {
    const ImageSizes sizes(x);
    const kernels::PixelRows image_size{sizes.pixels(), sizes.channels};
    torch::Tensor out = torch::empty_like(x);
    for_each_image(sizes.images, [&](std::size_t, std::size_t image) {
      const std::size_t at = image * image_size.pixels * image_size.channels;
      if (residual) {
        kernels::normalized_relu_of_sum(bits_of(x) + at, bits_of(*residual) + at, image_size,
                                        factors->normalization(), bits_of(out) + at);
      } else {
        kernels::normalized(bits_of(x) + at, image_size, factors->normalization(),
                            bits_of(out) + at);
      }
    });
    context->save_for_backward({x, residual ? out : torch::Tensor()});
    context->saved_data["factors"] = c10::IValue::make_capsule(factors);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &result = saved[1];
    const auto factors = saved_as<ChannelFactors>(context, "factors");
    const torch::Tensor above = bfloat16_images(gradients.front());
    const torch::Tensor of_residual = result.defined() ? torch::empty_like(above) : torch::Tensor();
    const ImageSizes sizes(x);
    const kernels::PixelRows image_size{sizes.pixels(), sizes.channels};
    const auto layer_of = [&](const torch::Tensor& gradient, std::size_t at) {
      return kernels::LayerGradient{bits_of(x) + at, bits_of(gradient) + at};
    };
    GradientSums sums(sizes);
    for_each_image(sizes.images, [&](std::size_t block, std::size_t image) {
      const std::size_t at = image * image_size.pixels * image_size.channels;
      const kernels::ChannelSums to{factors->mean.data(), sums.sum(block), sums.product(block)};
      if (result.defined()) {
        kernels::pass_relu_gradient(layer_of(above, at), bits_of(result) + at, image_size,
                                    bits_of(of_residual) + at, to);
      } else {
        kernels::add_all_gradient_sums(layer_of(above, at), image_size, to);
      }
    });
    const NormGradients norm = norm_gradients(*factors, sums.totals());
    const torch::Tensor& passed = result.defined() ? of_residual : above;
    torch::Tensor of_x = torch::empty_like(x);
    for_each_image(sizes.images, [&](std::size_t, std::size_t image) {
      const std::size_t at = image * image_size.pixels * image_size.channels;
      kernels::corrected_gradient(layer_of(passed, at), image_size, factors->scale.data(),
                                  norm.correction(), bits_of(of_x) + at);
    });
    return {of_x, norm.of_weight, norm.of_bias, torch::Tensor(), of_residual};
  }
};

torch::Tensor apply(BatchNorm2d& norm, const torch::Tensor& x,
                    const c10::optional<torch::Tensor>& residual) {
  norm->num_batches_tracked += 1;
  const NormTensors tensors = norm->tensors();
  return NormalizedSum::apply(x, tensors.weight, tensors.bias, learn_factors(tensors, x), residual);
}

bool matches(const torch::Tensor& x, const torch::Tensor& residual) {
  return residual.device() == x.device() && residual.scalar_type() == x.scalar_type() &&
         residual.sizes() == x.sizes() && residual.strides() == x.strides();
}

}  // namespace

torch::Tensor normalized(BatchNorm2d& norm, const torch::Tensor& x) {
  if (takes_fused_norm(x, norm->is_training())) {
    norm->num_batches_tracked += 1;
    return fused_norm(norm->tensors(), x, {});
  }
  if (!fits_norm_kernels(norm->tensors(), x, norm->is_training())) return norm->forward(x);
  return apply(norm, x, c10::nullopt);
}

torch::Tensor normalized_relu_of_sum(BatchNorm2d& norm, const torch::Tensor& x,
                                     const torch::Tensor& residual) {
  if (matches(x, residual)) {
    if (takes_fused_norm(x, norm->is_training())) {
      norm->num_batches_tracked += 1;
      return fused_norm(norm->tensors(), x, {fused::Pool::kNone, fused::Activation::kRelu},
                        residual);
    }
    if (fits_norm_kernels(norm->tensors(), x, norm->is_training())) {
      return apply(norm, x, residual);
    }
  }
  return norm->forward(x).add_(residual).relu_();
}

}  // namespace tandem::model
