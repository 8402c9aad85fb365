#include <gtest/gtest.h>

#include "model/layers.hpp"
#include "tandem/model/autocast.hpp"

namespace tandem::model {
namespace {

struct ConvolutionResult {
  torch::Tensor value, of_input, of_weight, of_bias;
};

template <typename Forward>
ConvolutionResult convolve(Conv2d& layer, const torch::Tensor& images, Forward forward) {
  const torch::Tensor x = images.clone().requires_grad_();
  torch::Tensor value;
  {
    const AutocastScope scope(Precision::kBf16);
    value = forward(x);
  }
  EXPECT_EQ(value.scalar_type(), torch::kBFloat16);
  layer->zero_grad();
  (value.to(torch::kFloat32) * torch::linspace(-1, 1, value.numel()).view(value.sizes()))
      .sum()
      .backward();
  return {value.to(torch::kFloat32).detach(), x.grad(), layer->weight.grad().clone(),
          layer->bias.grad().clone()};
}

// Sums in another order may round to the neighboring bfloat16 number, which has 8 bits.
void expect_equal_but_for_order(const torch::Tensor& found, const torch::Tensor& expected) {
  const double scale = expected.abs().max().item<double>();
  EXPECT_GT(scale, 0);
  EXPECT_LE((found - expected).abs().max().item<double>(), scale * 0x1p-8);
  // Most are not changed at all: the operands were rounded alike.
  const auto equal = found.eq(expected).sum().item<std::int64_t>();
  EXPECT_GT(equal, found.numel() * 9 / 10);
}

// Not beside libtorch's own in bfloat16: if the processor has no such instructions, libtorch also
// rounds the partial sums.
TEST(Conv2d, RoundedFp32RoundsOperandsAndResultsOnly) {
  torch::manual_seed(5);
  Conv2d layer(torch::nn::Conv2dOptions(16, 32, 3).padding(1).stride(2));
  const torch::Tensor images = torch::randn({8, 16, 12, 12});
  const ConvolutionResult expected =
      convolve(layer, images, [&](const torch::Tensor& x) -> torch::Tensor {
        const AutocastScope without_autocast(Precision::kFp32);
        const auto rounded = [](const torch::Tensor& t) {
          return t.to(torch::kBFloat16).to(torch::kFloat64);
        };
        return torch::conv2d(rounded(x), rounded(layer->weight), rounded(layer->bias), 2, 1)
            .to(torch::kBFloat16);
      });
  const ConvolutionResult found =
      convolve(layer, images, [&](const torch::Tensor& x) { return layer->forward_rounded(x); });
  expect_equal_but_for_order(found.value, expected.value);
  expect_equal_but_for_order(found.of_input, expected.of_input);
  expect_equal_but_for_order(found.of_weight, expected.of_weight);
  expect_equal_but_for_order(found.of_bias, expected.of_bias);
}

TEST(Conv2d, IsTorchsOwnWithoutAutocast) {
  torch::manual_seed(6);
  Conv2d layer(torch::nn::Conv2dOptions(3, 4, 3).bias(false));
  const torch::Tensor images = torch::randn({2, 3, 8, 8});
  EXPECT_TRUE(torch::equal(layer->forward(images), layer->torch::nn::Conv2dImpl::forward(images)));
}

}  // namespace
}  // namespace tandem::model
