#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include "model/layers.hpp"
#include "tandem/model/autocast.hpp"

namespace tandem::model {
namespace {

struct LinearResults {
  torch::Tensor out, of_x, of_weight, of_bias;
};

torch::nn::Linear make_linear(bool has_bias) {
  torch::manual_seed(3);
  torch::nn::Linear layer(torch::nn::LinearOptions(70, 45).bias(has_bias));
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& each : layer->parameters()) each.copy_(each.to(torch::kBFloat16));
  return layer;
}

torch::Tensor rows() {
  torch::manual_seed(2);
  return torch::randn({37, 70}).to(torch::kBFloat16);
}

template <class Forward>
LinearResults run_linear(bool has_bias, torch::Dtype type, const Forward& forward) {
  torch::nn::Linear layer = make_linear(has_bias);
  layer->to(type == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32);
  const torch::Tensor x = rows().to(type).requires_grad_();
  const torch::Tensor out = forward(layer, x);
  torch::manual_seed(4);
  out.backward(torch::randn(out.sizes()).to(torch::kBFloat16).to(out.scalar_type()));
  const auto wide = [](const torch::Tensor& t) { return t.detach().to(torch::kFloat64); };
  return {wide(out), wide(x.grad()), wide(layer->weight.grad()),
          has_bias ? wide(layer->bias.grad()) : torch::ones({1}, torch::kFloat64)};
}

double linear_difference(const torch::Tensor& found, const torch::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

TEST(TileLinear, IsLibtorchsRoundedOnce) {
  constexpr double kRounding = 1.0 / 400;  // the root of the mean square of bfloat16's is 1 / 600
  for (const bool has_relu : {false, true}) {
    for (const bool has_bias : {false, true}) {
      const LinearResults expected = run_linear(
          has_bias, torch::kFloat64, [has_relu](torch::nn::Linear& layer, const torch::Tensor& x) {
            return has_relu ? layer->forward(x).relu() : layer->forward(x);
          });
      for (const bool amx : {false, kernels::has_amx()}) {
        const LinearResults found = run_linear(
            has_bias, torch::kBFloat16, [&](torch::nn::Linear& layer, const torch::Tensor& x) {
              const AutocastScope autocast(Precision::kBf16);
              return linear_with_tiles(layer, x, has_relu, amx);
            });
        EXPECT_LT(linear_difference(found.out, expected.out), kRounding);
        EXPECT_LT(linear_difference(found.of_x, expected.of_x), kRounding);
        EXPECT_LT(linear_difference(found.of_weight, expected.of_weight), 1e-6);
        EXPECT_LT(linear_difference(found.of_bias, expected.of_bias), 1e-6);
      }
    }
  }
}

TEST(TileLinear, IsLibtorchsWithoutAutocastAndInEvaluation) {
  torch::nn::Linear layer = make_linear(true);
  const torch::Tensor x = rows().to(torch::kFloat32);
  EXPECT_TRUE(torch::equal(linear(layer, x), layer->forward(x)));
  EXPECT_TRUE(torch::equal(linear_relu(layer, x), layer->forward(x).relu()));
  const AutocastScope autocast(Precision::kBf16);
  {
    const torch::NoGradGuard no_grad;
    EXPECT_TRUE(torch::equal(linear(layer, x), layer->forward(x)));
  }
  EXPECT_THROW(linear(layer, x.narrow(1, 0, 69)), c10::Error);
  const std::string by = linear(layer, x).grad_fn()->name();
  EXPECT_EQ(by.find("TileLinear") != std::string::npos, kernels::has_amx()) << by;
}

}  // namespace
}  // namespace tandem::model
