#include "model/layers.hpp"

#include <gtest/gtest.h>

namespace tandem::model {
namespace {

struct Result {
  torch::Tensor value;
  torch::Tensor gradient;
};

template <typename Function>
Result evaluate(const torch::Tensor& input, const torch::Tensor& weight, Function function) {
  const torch::Tensor x = input.clone().requires_grad_();
  const torch::Tensor value = function(x);
  (value * weight).sum().backward();
  return {value.detach(), x.grad()};
}

// Rounded to few values, so that windows hold ties, zeros and only negative numbers.
TEST(ReluMaxPool, IsMaxPoolOfReluBitForBit) {
  torch::manual_seed(3);
  const torch::Tensor input = torch::randn({8, 5, 12, 14}).mul(2).round().div(2);
  const torch::Tensor weight = torch::randn({8, 5, 6, 7});
  const Result fast = evaluate(input, weight, [](const torch::Tensor& x) {
    return relu_max_pool(x * 1);  // in place, so not on a leaf
  });
  const Result plain = evaluate(input, weight, [](const torch::Tensor& x) {
    return torch::max_pool2d(torch::relu(x * 1), 2);
  });
  EXPECT_TRUE(torch::equal(fast.value, plain.value));
  EXPECT_TRUE(torch::equal(fast.gradient, plain.gradient));
  EXPECT_GT(fast.gradient.count_nonzero().item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace tandem::model
