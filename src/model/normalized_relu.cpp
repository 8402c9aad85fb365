#include "normalized_relu.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bfloat16_bits.hpp"
#include "image_parts.hpp"
#include "layers.hpp"
#include "tandem/kernels/normalized_relu.hpp"

namespace tandem::model {
namespace {

constexpr std::size_t kPixelsAtOnce = 64;  // whose channels stay in the first-level cache

struct ImageSizes {
  explicit ImageSizes(const torch::Tensor& x)
      : images(size(x, 0)), channels(size(x, 1)), height(size(x, 2)), width(size(x, 3)) {}
  std::size_t pixels() const { return height * width; }
  std::size_t pooled_pixels() const { return (height / 2) * (width / 2); }
  std::size_t parts() const { return image_parts(images); }
  const std::size_t images, channels, height, width;

 private:
  static std::size_t size(const torch::Tensor& x, std::int64_t dimension) {
    return static_cast<std::size_t>(x.size(dimension));
  }
};

// Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
// Variances", 1979.
struct Moments {
  explicit Moments(std::size_t channels) : mean(channels), squares(channels) {}

  template <class Number>
  void add(double other_count, const Number* other_mean, const Number* other_squares) {
    const double total = count + other_count;
    for (std::size_t c = 0; c < mean.size(); ++c) {
      const double difference = other_mean[c] - mean[c];
      mean[c] += difference * other_count / total;
      squares[c] += other_squares[c] + difference * difference * count * other_count / total;
    }
    count = total;
  }

  double count = 0;
  std::vector<double> mean, squares;
};

Moments moments_of(const torch::Tensor& x) {
  const ImageSizes sizes(x);
  std::vector<Moments> parts(sizes.parts(), Moments(sizes.channels));
  for_each_image_part(sizes.images, [&](std::size_t part, std::size_t first, std::size_t images) {
    std::vector<float> mean(sizes.channels), squares(sizes.channels);
    const std::uint16_t* in = bits_of(x) + first * sizes.pixels() * sizes.channels;
    for (std::size_t left = images * sizes.pixels(); left > 0;) {
      const std::size_t pixels = std::min(kPixelsAtOnce, left);
      kernels::channel_moments(in, pixels, sizes.channels, mean.data(), squares.data());
      parts[part].add(static_cast<double>(pixels), mean.data(), squares.data());
      in += pixels * sizes.channels;
      left -= pixels;
    }
  });
  Moments all(sizes.channels);
  for (const Moments& part : parts) all.add(part.count, part.mean.data(), part.squares.data());
  return all;
}

// Of each channel; what forward leaves to backward.
struct Factors : torch::CustomClassHolder {
  std::vector<float> mean, inverse_deviation, scale, shift;
  kernels::Normalization normalization() const { return {scale.data(), shift.data()}; }
};

// Also moves the running statistics.
c10::intrusive_ptr<Factors> learn_factors(torch::nn::BatchNorm2d& norm, const torch::Tensor& x) {
  const Moments moments = moments_of(x);
  const double momentum = norm->options.momentum().value();
  auto factors = c10::make_intrusive<Factors>();
  const torch::NoGradGuard no_grad;
  const float* weight = norm->weight.data_ptr<float>();
  const float* bias = norm->bias.data_ptr<float>();
  float* running_mean = norm->running_mean.data_ptr<float>();
  float* running_variance = norm->running_var.data_ptr<float>();
  for (std::size_t c = 0; c < moments.mean.size(); ++c) {
    const double inverse = 1 / std::sqrt(moments.squares[c] / moments.count + norm->options.eps());
    const double unbiased = moments.squares[c] / (moments.count - 1);
    running_mean[c] =
        static_cast<float>((1 - momentum) * running_mean[c] + momentum * moments.mean[c]);
    running_variance[c] =
        static_cast<float>((1 - momentum) * running_variance[c] + momentum * unbiased);
    const double scale = weight[c] * inverse;
    factors->mean.push_back(static_cast<float>(moments.mean[c]));
    factors->inverse_deviation.push_back(static_cast<float>(inverse));
    factors->scale.push_back(static_cast<float>(scale));
    factors->shift.push_back(static_cast<float>(bias[c] - moments.mean[c] * scale));
  }
  norm->num_batches_tracked += 1;
  return factors;
}

struct NormalizedRelu : public torch::autograd::Function<NormalizedRelu> {
  // `weight` and `bias` are those of norm, for autograd to know of.
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               const c10::intrusive_ptr<Factors>& factors, bool pools) {
    const ImageSizes sizes(x);
    std::vector<std::int64_t> shape = x.sizes().vec();
    if (pools) shape[2] /= 2, shape[3] /= 2;
    torch::Tensor out = torch::empty(shape, x.options(), at::MemoryFormat::ChannelsLast);
    torch::Tensor choice;
    if (pools) choice = torch::empty(out.numel(), torch::kUInt8);
    for_each_image_part(sizes.images, [&](std::size_t, std::size_t first, std::size_t images) {
      for (std::size_t image = first; image < first + images; ++image) {
        const std::uint16_t* in = bits_of(x) + image * sizes.pixels() * sizes.channels;
        if (pools) {
          const std::size_t to = image * sizes.pooled_pixels() * sizes.channels;
          kernels::pooled_normalized_relu(in, sizes.height, sizes.width, sizes.channels,
                                          factors->normalization(), bits_of(out) + to,
                                          choice.data_ptr<std::uint8_t>() + to);
        } else {
          kernels::normalized_relu(in, sizes.pixels(), sizes.channels, factors->normalization(),
                                   bits_of(out) + image * sizes.pixels() * sizes.channels);
        }
      }
    });
    context->save_for_backward({x, weight, bias, choice});
    context->saved_data["factors"] = c10::IValue::make_capsule(factors);
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &choice = saved[3];
    const bool pools = choice.defined();
    const auto factors =
        c10::static_intrusive_pointer_cast<Factors>(context->saved_data["factors"].toCapsule());
    const torch::Tensor above =
        gradients.front().to(torch::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
    const ImageSizes sizes(x);
    const std::size_t channels = sizes.channels;
    const std::size_t in_size = sizes.pixels() * channels;
    const std::size_t above_size = pools ? sizes.pooled_pixels() * channels : in_size;
    const std::uint8_t* choices = pools ? choice.data_ptr<std::uint8_t>() : nullptr;

    std::vector<float> sums(sizes.parts() * channels), products(sums.size());
    for_each_image_part(sizes.images, [&](std::size_t part, std::size_t first, std::size_t images) {
      float* sum = &sums[part * channels];
      float* product = &products[part * channels];
      for (std::size_t image = first; image < first + images; ++image) {
        const std::uint16_t* in = bits_of(x) + image * in_size;
        const std::uint16_t* gradient = bits_of(above) + image * above_size;
        if (pools) {
          kernels::add_pooled_gradient_sums(in, gradient, choices + image * above_size,
                                            sizes.height, sizes.width, channels,
                                            factors->mean.data(), sum, product);
        } else {
          kernels::add_gradient_sums(in, gradient, sizes.pixels(), channels,
                                     factors->normalization(), factors->mean.data(), sum, product);
        }
      }
    });

    torch::Tensor of_weight = torch::empty_like(saved[1]);
    torch::Tensor of_bias = torch::empty_like(saved[2]);
    std::vector<float> slope(channels), offset(channels);
    const double count = static_cast<double>(sizes.images * sizes.pixels());
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0, product = 0;
      for (std::size_t part = 0; part < sizes.parts(); ++part) {
        sum += sums[part * channels + c];
        product += products[part * channels + c];
      }
      const double inverse = factors->inverse_deviation[c], scale = factors->scale[c];
      of_bias.data_ptr<float>()[c] = static_cast<float>(sum);
      of_weight.data_ptr<float>()[c] = static_cast<float>(product * inverse);
      // Ioffe and Szegedy, "Batch Normalization", 2015, section 3, in terms of x.
      const double along = -scale * inverse * inverse * product / count;
      slope[c] = static_cast<float>(along);
      offset[c] = static_cast<float>(-scale * sum / count - along * factors->mean[c]);
    }

    torch::Tensor of_x = torch::empty_like(x);
    const kernels::Correction correction{slope.data(), offset.data()};
    for_each_image_part(sizes.images, [&](std::size_t, std::size_t first, std::size_t images) {
      for (std::size_t image = first; image < first + images; ++image) {
        const std::uint16_t* in = bits_of(x) + image * in_size;
        const std::uint16_t* gradient = bits_of(above) + image * above_size;
        std::uint16_t* out = bits_of(of_x) + image * in_size;
        if (pools) {
          kernels::pooled_normalized_gradient(in, gradient, choices + image * above_size,
                                              sizes.height, sizes.width, channels,
                                              factors->normalization(), correction, out);
        } else {
          kernels::normalized_gradient(in, gradient, sizes.pixels(), channels,
                                       factors->normalization(), correction, out);
        }
      }
    });
    return {of_x, of_weight, of_bias, torch::Tensor(), torch::Tensor()};
  }
};

// What the kernels do; the rest is libtorch's, faults too.
bool is_ours(const torch::nn::BatchNorm2d& norm, const torch::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == torch::kBFloat16 && norm->is_training() &&
         torch::GradMode::is_enabled() && x.dim() == 4 &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast) && x.size(1) == norm->weight.numel() &&
         x.size(2) > 1 && x.size(3) > 1;
}

}  // namespace

torch::Tensor normalized_relu(torch::nn::BatchNorm2d& norm, const torch::Tensor& x) {
  if (!is_ours(norm, x)) return norm->forward(x).relu_();
  return NormalizedRelu::apply(x, norm->weight, norm->bias, learn_factors(norm, x), false);
}

torch::Tensor pooled_normalized_relu(torch::nn::BatchNorm2d& norm, const torch::Tensor& x) {
  if (!is_ours(norm, x)) return relu_max_pool(norm->forward(x));
  return NormalizedRelu::apply(x, norm->weight, norm->bias, learn_factors(norm, x), true);
}

}  // namespace tandem::model
