#include "batch_statistics.hpp"
#include "kernel_calls.hpp"

namespace tandem::model {
namespace {

constexpr double kMomentum = 0.1;
constexpr double kEpsilon = 1e-5;

// One number per channel, to multiply images by.
torch::Tensor by_channel(const std::vector<float>& values) {
  return torch::tensor(values).view({1, -1, 1, 1});
}

struct SynchronizedNormOfImages : public torch::autograd::Function<SynchronizedNormOfImages> {
  // `weight` and `bias` are part of the factors. They are parameters here so that autograd tracks
  // them.
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const c10::optional<torch::Tensor>& weight,
                               const torch::Tensor& /*bias*/,
                               const c10::intrusive_ptr<ChannelFactors>& factors) {
    context->save_for_backward({x});
    context->saved_data["has_weight"] = weight.has_value();
    context->saved_data["factors"] = c10::IValue::make_capsule(factors);
    return (x.to(torch::kFloat32) * by_channel(factors->scale) + by_channel(factors->shift))
        .to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor saved = context->get_saved_variables().front();
    const torch::Tensor x = saved.to(torch::kFloat32);
    const torch::Tensor above = gradients.front().to(torch::kFloat32);
    const auto factors = saved_as<ChannelFactors>(context, "factors");
    const torch::Tensor products = above * (x - by_channel(factors->mean));
    const NormGradients norm =
        norm_gradients(*factors, {doubles_of(above.sum(torch::IntArrayRef(kAllButChannels))),
                                  doubles_of(products.sum(torch::IntArrayRef(kAllButChannels)))});
    const torch::Tensor of_x =
        above * by_channel(factors->scale) + x * by_channel(norm.slope) + by_channel(norm.offset);
    const bool has_weight = context->saved_data["has_weight"].toBool();
    return {of_x.to(saved.scalar_type()), has_weight ? norm.of_weight : torch::Tensor(),
            norm.of_bias, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor synchronized_norm(const NormTensors& norm, const torch::Tensor& x) {
  return SynchronizedNormOfImages::apply(x, present(norm.weight), norm.bias,
                                         learn_factors(norm, x));
}

BatchNorm2dImpl::BatchNorm2dImpl(std::int64_t channels) {
  weight = register_parameter("weight", torch::ones({channels}));
  bias = register_parameter("bias", torch::zeros({channels}));
  running_mean = register_buffer("running_mean", torch::zeros({channels}));
  running_var = register_buffer("running_var", torch::ones({channels}));
  num_batches_tracked = register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64));
}

NormTensors BatchNorm2dImpl::tensors() const {
  return {weight, bias, running_mean, running_var, kMomentum, kEpsilon, exchange};
}

torch::Tensor BatchNorm2dImpl::forward(const torch::Tensor& x) {
  if (is_training()) num_batches_tracked += 1;
  if (exchange && is_training()) return synchronized_norm(tensors(), x);
  namespace F = torch::nn::functional;
  return F::batch_norm(x, running_mean, running_var,
                       F::BatchNormFuncOptions()
                           .weight(weight)
                           .bias(bias)
                           .training(is_training())
                           .momentum(kMomentum)
                           .eps(kEpsilon));
}

}  // namespace tandem::model
