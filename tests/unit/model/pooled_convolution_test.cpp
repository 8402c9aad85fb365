#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "model/layers.hpp"
#include "tandem/model/autocast.hpp"

namespace tandem::model {
namespace {

struct Case {
  std::int64_t channels, pixels, filters, padding;
};
// The layers of simple and lenet; 35 images are two whole parts and some.
constexpr Case kCases[] = {{3, 32, 6, 0}, {6, 14, 16, 0}, {1, 28, 6, 2}};
constexpr std::int64_t kImages = 35;

struct Results {
  torch::Tensor out, of_images, of_filters, of_bias;
};

Conv2d make_layer(const Case& sizes) {
  torch::manual_seed(5);
  return Conv2d(torch::nn::Conv2dOptions(sizes.channels, sizes.filters, 5).padding(sizes.padding));
}

template <class Layer>
Results run(Conv2d& convolution, const torch::Tensor& images, Precision precision, Layer layer) {
  convolution->zero_grad();
  const torch::Tensor x = images.detach().requires_grad_();
  torch::Tensor out;
  {
    const AutocastScope autocast(precision);
    out = layer(convolution, x).to(torch::kFloat32);
  }
  torch::manual_seed(6);
  out.backward(torch::randn(out.sizes()));
  return {out.detach(), x.grad(), convolution->weight.grad().clone(),
          convolution->bias.grad().clone()};
}

torch::Tensor by_libtorch(Conv2d& convolution, const torch::Tensor& x) {
  return relu_max_pool(convolution->forward(x));
}

// The largest difference beside the largest number.
double difference(const torch::Tensor& found, const torch::Tensor& expected) {
  return ((found - expected).abs().max() / expected.abs().max()).item<double>();
}

TEST(PooledConvolution, IsWhatLibtorchComputes) {
  for (const Case& sizes : kCases) {
    SCOPED_TRACE(sizes.channels);
    Conv2d convolution = make_layer(sizes);
    const torch::Tensor images =
        torch::randn({kImages, sizes.channels, sizes.pixels, sizes.pixels});
    const Results expected = run(convolution, images, Precision::kFp32, by_libtorch);
    for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      convolution->weight.set_data(convolution->weight.detach().contiguous(format));
      const Results found =
          run(convolution, images.contiguous(format), Precision::kFp32, convolve_and_pool);
      EXPECT_LT(difference(found.out, expected.out), 1e-6);
      EXPECT_LT(difference(found.of_images, expected.of_images), 1e-5);
      EXPECT_LT(difference(found.of_filters, expected.of_filters), 1e-5);
      EXPECT_LT(difference(found.of_bias, expected.of_bias), 1e-5);
    }
  }
}

// In bfloat16 numbers that are nearly halfway round to either side, by the order of a sum; so the
// whole is compared, not the worst.
TEST(PooledConvolution, IsWhatLibtorchComputesInBfloat16) {
  for (const Case& sizes : kCases) {
    SCOPED_TRACE(sizes.channels);
    Conv2d convolution = make_layer(sizes);
    const torch::Tensor images =
        torch::randn({kImages, sizes.channels, sizes.pixels, sizes.pixels});
    const Results expected = run(convolution, images, Precision::kBf16, by_libtorch);
    const Results found = run(convolution, images, Precision::kBf16, convolve_and_pool);
    const auto near = [](const torch::Tensor& one, const torch::Tensor& other) {
      return ((one - other).norm() / other.norm()).item<double>();
    };
    EXPECT_TRUE(torch::equal(found.out, found.out.to(torch::kBFloat16).to(torch::kFloat32)));
    EXPECT_GT((found.out == expected.out).to(torch::kFloat32).mean().item<double>(), 0.99);
    EXPECT_LT(near(found.out, expected.out), 1e-3);
    EXPECT_LT(near(found.of_images, expected.of_images), 2e-2);
    EXPECT_LT(near(found.of_filters, expected.of_filters), 2e-2);
    EXPECT_LT(near(found.of_bias, expected.of_bias), 2e-2);
  }
}

TEST(PooledConvolution, GivesTheSameBitsOnAnyNumberOfThreads) {
  Conv2d convolution = make_layer(kCases[1]);
  const torch::Tensor images = torch::randn({kImages, 6, 14, 14});
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const Results one = run(convolution, images, Precision::kFp32, convolve_and_pool);
  at::set_num_threads(3);
  const Results three = run(convolution, images, Precision::kFp32, convolve_and_pool);
  at::set_num_threads(before);
  EXPECT_TRUE(torch::equal(one.out, three.out));
  EXPECT_TRUE(torch::equal(one.of_images, three.of_images));
  EXPECT_TRUE(torch::equal(one.of_filters, three.of_filters));
  EXPECT_TRUE(torch::equal(one.of_bias, three.of_bias));
}

TEST(PooledConvolution, LeavesTheRestToLibtorch) {
  Conv2d convolution = make_layer(kCases[0]);
  const torch::Tensor images = torch::randn({kImages, 3, 32, 32});
  for (auto& options :
       {torch::nn::Conv2dOptions(3, 4, 5).stride(2), torch::nn::Conv2dOptions(3, 4, 5).dilation(2),
        torch::nn::Conv2dOptions(3, 4, 5).padding({1, 2}),
        torch::nn::Conv2dOptions(3, 4, 5).bias(false), torch::nn::Conv2dOptions(3, 6, 5).groups(3),
        torch::nn::Conv2dOptions(3, 4, {5, 3})}) {
    Conv2d other(options);
    EXPECT_TRUE(torch::equal(convolve_and_pool(other, images), by_libtorch(other, images)));
  }
  EXPECT_THROW(convolve_and_pool(convolution, images.narrow(2, 0, 5)), c10::Error)
      << "nothing is left to pool";
  EXPECT_THROW(convolve_and_pool(convolution, images.narrow(1, 0, 2)), c10::Error);
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(
      torch::equal(convolve_and_pool(convolution, images), by_libtorch(convolution, images)));
}

}  // namespace
}  // namespace tandem::model
