#include "batch_statistics.hpp"

#include <algorithm>
#include <cmath>

#include "kernel_calls.hpp"

namespace tandem::model {
namespace {

constexpr std::size_t kPixelsAtOnce = 64;  // whose channels stay in the first-level cache

std::size_t size_of(const torch::Tensor& x, std::int64_t dimension) {
  return static_cast<std::size_t>(x.size(dimension));
}

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
  std::vector<Moments> blocks(image_blocks(sizes.images), Moments(sizes.channels));
  for_each_image_block(sizes.images, [&](std::size_t block, std::size_t first, std::size_t images) {
    std::vector<float> mean(sizes.channels), squares(sizes.channels);
    const std::uint16_t* in = bits_of(x) + first * sizes.pixels() * sizes.channels;
    for (std::size_t left = images * sizes.pixels(); left > 0;) {
      const std::size_t pixels = std::min(kPixelsAtOnce, left);
      kernels::channel_moments(in, pixels, sizes.channels, mean.data(), squares.data());
      blocks[block].add(static_cast<double>(pixels), mean.data(), squares.data());
      in += pixels * sizes.channels;
      left -= pixels;
    }
  });
  Moments all(sizes.channels);
  for (const Moments& block : blocks) all.add(block.count, block.mean.data(), block.squares.data());
  return all;
}

}  // namespace

ImageSizes::ImageSizes(const torch::Tensor& x)
    : images(size_of(x, 0)), channels(size_of(x, 1)), height(size_of(x, 2)), width(size_of(x, 3)) {}

NormTensors tensors_of(const torch::nn::BatchNorm2d& norm) {
  return {norm->weight,
          norm->bias,
          norm->running_mean,
          norm->running_var,
          norm->options.momentum().value(),
          norm->options.eps()};
}

bool fits_norm_kernels(const NormTensors& norm, const torch::Tensor& x, bool is_training) {
  return is_training && torch::GradMode::is_enabled() && x.is_cpu() &&
         x.scalar_type() == torch::kBFloat16 && x.dim() == 4 &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast) && x.size(1) == norm.bias.numel() &&
         x.size(2) > 1 && x.size(3) > 1;
}

c10::intrusive_ptr<ChannelFactors> learn_factors(const NormTensors& norm, const torch::Tensor& x) {
  const Moments moments = moments_of(x);
  auto factors = c10::make_intrusive<ChannelFactors>();
  const float* weight = norm.weight.defined() ? norm.weight.data_ptr<float>() : nullptr;
  const float* bias = norm.bias.data_ptr<float>();
  float* running_mean = norm.running_mean.data_ptr<float>();
  float* running_variance = norm.running_variance.data_ptr<float>();
  for (std::size_t c = 0; c < moments.mean.size(); ++c) {
    const double inverse = 1 / std::sqrt(moments.squares[c] / moments.count + norm.epsilon);
    const double unbiased = moments.squares[c] / (moments.count - 1);
    running_mean[c] =
        static_cast<float>((1 - norm.momentum) * running_mean[c] + norm.momentum * moments.mean[c]);
    running_variance[c] =
        static_cast<float>((1 - norm.momentum) * running_variance[c] + norm.momentum * unbiased);
    const double scale = weight != nullptr ? weight[c] * inverse : inverse;
    factors->mean.push_back(static_cast<float>(moments.mean[c]));
    factors->inverse_deviation.push_back(static_cast<float>(inverse));
    factors->scale.push_back(static_cast<float>(scale));
    factors->shift.push_back(static_cast<float>(bias[c] - moments.mean[c] * scale));
  }
  return factors;
}

GradientSums::GradientSums(const ImageSizes& sizes)
    : channels_(sizes.channels),
      sums_(image_blocks(sizes.images) * sizes.channels),
      products_(sums_.size()) {}

double GradientSums::whole(const std::vector<float>& blocks, std::size_t channel) const {
  double all = 0;
  for (std::size_t i = channel; i < blocks.size(); i += channels_) all += blocks[i];
  return all;
}

NormGradients norm_gradients(const ChannelFactors& factors, const GradientSums& sums,
                             const ImageSizes& sizes) {
  const auto channels = static_cast<std::int64_t>(sizes.channels);
  NormGradients gradients{torch::empty({channels}), torch::empty({channels}), {}, {}};
  const double count = static_cast<double>(sizes.images * sizes.pixels());
  for (std::size_t c = 0; c < sizes.channels; ++c) {
    const double sum = sums.whole_sum(c), product = sums.whole_product(c);
    const double inverse = factors.inverse_deviation[c], scale = factors.scale[c];
    gradients.of_bias.data_ptr<float>()[c] = static_cast<float>(sum);
    gradients.of_weight.data_ptr<float>()[c] = static_cast<float>(product * inverse);
    const double along = -scale * inverse * inverse * product / count;
    gradients.slope.push_back(static_cast<float>(along));
    gradients.offset.push_back(static_cast<float>(-scale * sum / count - along * factors.mean[c]));
  }
  return gradients;
}

}  // namespace tandem::model
