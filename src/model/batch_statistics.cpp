#include "batch_statistics.hpp"

#include <algorithm>
#include <cmath>

#include "kernel_calls.hpp"

namespace tandem::model {
namespace {

constexpr std::size_t kPixelsAtOnce = 64;  // whose channels stay in the first-level cache

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

Moments moments_by_libtorch(const torch::Tensor& x) {
  const auto [variance, mean] =
      torch::var_mean(x.to(torch::kFloat32), torch::IntArrayRef(kAllButChannels), false);
  const std::int64_t channels = x.size(1);
  const std::int64_t count = x.numel() / channels;
  Moments moments(static_cast<std::size_t>(channels));
  moments.count = static_cast<double>(count);
  moments.mean = doubles_of(mean);
  moments.squares = doubles_of(variance);
  for (double& each : moments.squares) each *= moments.count;
  return moments;
}

Moments moments_of_all(const NormTensors& norm, const torch::Tensor& x) {
  Moments mine =
      x.scalar_type() == torch::kBFloat16 && x.is_contiguous(at::MemoryFormat::ChannelsLast)
          ? moments_of(x)
          : moments_by_libtorch(x);
  if (!norm.exchange) return mine;
  std::vector<double> values{mine.count};
  values.insert(values.end(), mine.mean.begin(), mine.mean.end());
  values.insert(values.end(), mine.squares.begin(), mine.squares.end());
  Moments all(mine.mean.size());
  for (const std::vector<double>& rank : norm.exchange->all(values)) {
    if (rank[0] > 0) all.add(rank[0], &rank[1], &rank[1] + all.mean.size());
  }
  return all;
}

ChannelTotals of_all_ranks(const BatchExchange& exchange, const ChannelTotals& mine) {
  const std::size_t channels = mine.sum.size();
  std::vector<double> values = mine.sum;
  values.insert(values.end(), mine.product.begin(), mine.product.end());
  ChannelTotals all{std::vector<double>(channels), std::vector<double>(channels)};
  for (const std::vector<double>& rank : exchange.all(values)) {
    for (std::size_t c = 0; c < channels; ++c) {
      all.sum[c] += rank[c];
      all.product[c] += rank[channels + c];
    }
  }
  return all;
}

}  // namespace

ImageSizes::ImageSizes(const torch::Tensor& x)
    : images(size_of(x, 0)), channels(size_of(x, 1)), height(size_of(x, 2)), width(size_of(x, 3)) {}

bool fits_norm_kernels(const NormTensors& norm, const torch::Tensor& x, bool is_training) {
  return is_training && torch::GradMode::is_enabled() && x.is_cpu() &&
         x.scalar_type() == torch::kBFloat16 && x.dim() == 4 &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast) && x.size(1) == norm.bias.numel() &&
         x.size(2) > 1 && x.size(3) > 1;
}

c10::intrusive_ptr<ChannelFactors> learn_factors(const NormTensors& norm, const torch::Tensor& x) {
  const Moments moments = moments_of_all(norm, x);
  TORCH_CHECK(moments.count > 1, "expected more than 1 value per channel when training, found ",
              x.sizes(), norm.exchange ? " on all ranks together" : "");
  auto factors = c10::make_intrusive<ChannelFactors>();
  factors->count = moments.count;
  factors->exchange = norm.exchange;
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

std::vector<double> GradientSums::whole(const std::vector<float>& blocks) const {
  std::vector<double> all(channels_);
  for (std::size_t i = 0; i < blocks.size(); ++i) all[i % channels_] += blocks[i];
  return all;
}

NormGradients norm_gradients(const ChannelFactors& factors, const ChannelTotals& totals) {
  const std::size_t size = totals.sum.size();
  const auto channels = static_cast<std::int64_t>(size);
  NormGradients gradients{torch::empty({channels}), torch::empty({channels}), {}, {}};
  const ChannelTotals all = factors.exchange ? of_all_ranks(*factors.exchange, totals) : totals;
  for (std::size_t c = 0; c < size; ++c) {
    const double inverse = factors.inverse_deviation[c], scale = factors.scale[c];
    gradients.of_bias.data_ptr<float>()[c] = static_cast<float>(totals.sum[c]);
    gradients.of_weight.data_ptr<float>()[c] = static_cast<float>(totals.product[c] * inverse);
    const double along = -scale * inverse * inverse * all.product[c] / factors.count;
    gradients.slope.push_back(static_cast<float>(along));
    gradients.offset.push_back(
        static_cast<float>(-scale * all.sum[c] / factors.count - along * factors.mean[c]));
  }
  return gradients;
}

}  // namespace tandem::model
