#include <gtest/gtest.h>

#include <cmath>

#include "model/layers.hpp"

namespace tandem::model {
namespace {

// libtorch's own gradient is wrong in 1.13 where it lies in another order than the values.
torch::Tensor exact_gelu(const torch::Tensor& x) {
  return 0.5 * x * torch::erfc(-x * std::sqrt(0.5));
}

// Of `expected` bfloat16 keeps eight bits.
void expect_near(const torch::Tensor& found, const torch::Tensor& expected) {
  EXPECT_EQ(found.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(found.strides(), expected.strides());
  EXPECT_TRUE(torch::allclose(found.to(torch::kFloat64), expected, 1.0 / 256, 1e-6));
}

struct Both {
  torch::Tensor output, gradient;
};

template <typename Function>
Both run(const Function& function, const torch::Tensor& values, const torch::Tensor& above) {
  const torch::Tensor x = values.detach().clone().requires_grad_();
  const torch::Tensor output = function(x);
  output.backward(above);
  return {output.detach(), x.grad()};
}

TEST(GeluOfTensors, IsTheRoundedFunctionAndItsGradient) {
  torch::manual_seed(4);
  const Gelu gelu;
  const torch::Tensor planar = (torch::randn({3, 5, 4, 6}) * 2).to(torch::kBFloat16);
  const torch::Tensor channels_last = planar.contiguous(at::MemoryFormat::ChannelsLast);
  const torch::Tensor gapped = planar.narrow(3, 1, 3);
  for (const torch::Tensor& values : {planar, channels_last, gapped}) {
    // A gradient may lie in another order than what it belongs to.
    for (const bool planar_gradient : {true, false}) {
      const torch::Tensor dense = torch::randn(values.sizes()).to(torch::kBFloat16);
      const torch::Tensor above =
          planar_gradient ? dense : dense.contiguous(at::MemoryFormat::ChannelsLast);
      const Both expected = run(exact_gelu, values.to(torch::kFloat64), above.to(torch::kFloat64));
      const Both found = run(gelu, values, above);
      if (values.is_non_overlapping_and_dense()) {
        EXPECT_EQ(found.output.strides(), values.strides());
      }
      expect_near(found.output.contiguous(), expected.output.contiguous());
      expect_near(found.gradient.contiguous(), expected.gradient.contiguous());
    }
  }
}

TEST(GeluOfTensors, OfFp32IsTheFunctionAndItsGradient) {
  torch::manual_seed(5);
  const torch::Tensor planar = torch::randn({3, 50, 14, 16}) * 2;
  const torch::Tensor channels_last = planar.contiguous(at::MemoryFormat::ChannelsLast);
  const torch::Tensor gapped = planar.narrow(3, 1, 3);
  for (const torch::Tensor& values : {planar, channels_last, gapped}) {
    const torch::Tensor above = torch::randn(values.sizes());
    const Both expected = run(exact_gelu, values.to(torch::kFloat64), above.to(torch::kFloat64));
    const Both found = run(Gelu(), values, above);
    EXPECT_EQ(found.output.scalar_type(), torch::kFloat32);
    EXPECT_TRUE(torch::allclose(found.output.to(torch::kFloat64), expected.output, 1e-6, 1e-6));
    EXPECT_TRUE(torch::allclose(found.gradient.to(torch::kFloat64), expected.gradient, 1e-6, 1e-6));
  }
}

TEST(GeluOfTensors, LeavesEvaluationAndOtherTypesToLibtorch) {
  const torch::Tensor values = torch::randn({4, 4});
  EXPECT_TRUE(torch::equal(Gelu()(values), torch::gelu(values)));
  const torch::Tensor doubles = values.to(torch::kFloat64).requires_grad_();
  EXPECT_TRUE(torch::equal(Gelu()(doubles), torch::gelu(doubles)));
}

TEST(GeluOfTensors, TakesNothing) {
  EXPECT_EQ(Gelu()(torch::empty({0, 3}, torch::kBFloat16)).sizes(),
            (std::vector<std::int64_t>{0, 3}));
}

}  // namespace
}  // namespace tandem::model
