#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "model/kernel_calls.hpp"
#include "model/layers.hpp"

namespace tandem::model {
namespace {

// Odd sizes, several parts and a part of one, channels that fill no vector, and more pixels than
// are summed at once.
const std::vector<std::int64_t> kNormShapes[] = {
    {11, 5, 6, 8}, {8, 16, 4, 4}, {3, 40, 7, 9}, {1, 64, 32, 32}};

torch::Tensor images(const std::vector<std::int64_t>& shape) {
  torch::manual_seed(2);
  return (torch::randn(shape) * 3 + 4)
      .to(torch::kBFloat16)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

BatchNorm2d make_norm(std::int64_t channels) {
  BatchNorm2d norm(channels);
  torch::manual_seed(3);
  const torch::NoGradGuard no_grad;
  norm->weight.copy_(torch::randn(channels));  // of either sign
  norm->bias.copy_(torch::randn(channels));
  return norm;
}

struct NormalizedReluResults {
  torch::Tensor out, of_x, of_weight, of_bias, mean, variance;
};

template <class Layer>
NormalizedReluResults run_normalized_relu(const torch::Tensor& values, torch::Dtype type,
                                          Layer layer) {
  BatchNorm2d norm = make_norm(values.size(1));
  norm->to(type == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32);
  const torch::Tensor x = values.detach().to(type).requires_grad_();
  const torch::Tensor out = layer(norm, x);
  torch::manual_seed(4);
  const torch::Tensor above = torch::randn(out.sizes()).to(torch::kBFloat16);
  out.backward(above.to(type));
  EXPECT_EQ(norm->num_batches_tracked.template item<std::int64_t>(), 1);
  const auto wide = [](const torch::Tensor& t) { return t.detach().to(torch::kFloat64); };
  return {wide(out),
          wide(x.grad()),
          wide(norm->weight.grad()),
          wide(norm->bias.grad()),
          wide(norm->running_mean),
          wide(norm->running_var)};
}

// By its norm, because a few bfloat16 numbers of equal size may be chosen otherwise by pooling.
double norm_of_difference(const torch::Tensor& found, const torch::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

void expect_near(const NormalizedReluResults& found, const NormalizedReluResults& expected,
                 double rounding) {
  EXPECT_LT(norm_of_difference(found.out, expected.out), rounding);
  EXPECT_LT(norm_of_difference(found.of_x, expected.of_x), rounding);
  EXPECT_LT(norm_of_difference(found.of_weight, expected.of_weight), 1e-5);
  EXPECT_LT(norm_of_difference(found.of_bias, expected.of_bias), 1e-5);
  EXPECT_LT(norm_of_difference(found.mean, expected.mean), 1e-6);
  EXPECT_LT(norm_of_difference(found.variance, expected.variance), 1e-6);
}

constexpr double kOneRounding = 1.0 / 400;  // the root of the mean square of bfloat16's is 1 / 600

TEST(NormalizedRelu, IsBatchNormAndReluRoundedOnce) {
  for (const auto& shape : kNormShapes) {
    SCOPED_TRACE(shape[1]);
    const torch::Tensor x = images(shape);
    expect_near(run_normalized_relu(x, torch::kBFloat16, normalized_relu),
                run_normalized_relu(x, torch::kFloat64,
                                    [](BatchNorm2d& norm, const torch::Tensor& in) {
                                      return torch::relu(norm->forward(in));
                                    }),
                kOneRounding);
  }
}

TEST(NormalizedRelu, PoolsLikeMaxPool) {
  for (const auto& shape : kNormShapes) {
    SCOPED_TRACE(shape[1]);
    const torch::Tensor x = images(shape);
    expect_near(run_normalized_relu(x, torch::kBFloat16, pooled_normalized_relu),
                run_normalized_relu(x, torch::kFloat64,
                                    [](BatchNorm2d& norm, const torch::Tensor& in) {
                                      return torch::max_pool2d(torch::relu(norm->forward(in)), 2);
                                    }),
                kOneRounding);
  }
}

TEST(NormalizedRelu, IsBatchNormAloneRoundedOnce) {
  for (const auto& shape : kNormShapes) {
    SCOPED_TRACE(shape[1]);
    const torch::Tensor x = images(shape);
    expect_near(run_normalized_relu(x, torch::kBFloat16, normalized),
                run_normalized_relu(
                    x, torch::kFloat64,
                    [](BatchNorm2d& norm, const torch::Tensor& in) { return norm->forward(in); }),
                kOneRounding);
  }
}

TEST(NormalizedRelu, AddsAResidualBeforeItRounds) {
  for (const auto& shape : kNormShapes) {
    SCOPED_TRACE(shape[1]);
    const torch::Tensor x = images(shape), added = images(shape).flip({0}).neg();
    torch::Tensor residual = added.detach().clone().requires_grad_();
    torch::Tensor wide = added.detach().to(torch::kFloat64).requires_grad_();
    expect_near(run_normalized_relu(x, torch::kBFloat16,
                                    [&](BatchNorm2d& norm, const torch::Tensor& in) {
                                      return normalized_relu_of_sum(norm, in, residual);
                                    }),
                run_normalized_relu(x, torch::kFloat64,
                                    [&](BatchNorm2d& norm, const torch::Tensor& in) {
                                      return torch::relu(norm->forward(in) + wide);
                                    }),
                kOneRounding);
    EXPECT_TRUE(torch::equal(residual.grad().to(torch::kFloat64), wide.grad()))
        << "it passes as it is, or not at all";
  }
}

TEST(NormalizedRelu, AddsAResidualOfAnotherTypeByLibtorch) {
  const torch::Tensor x = images(kNormShapes[0]);
  const torch::Tensor residual = x.flip({0}).to(torch::kFloat64);
  BatchNorm2d ours = make_norm(x.size(1)), theirs = make_norm(x.size(1));
  EXPECT_TRUE(torch::equal(normalized_relu_of_sum(ours, x, residual),
                           theirs->forward(x).add_(residual).relu_()));
}

TEST(NormalizedRelu, GivesTheSameBitsOnAnyNumberOfThreads) {
  const torch::Tensor x = images(kNormShapes[0]);
  ASSERT_GT(image_blocks(static_cast<std::size_t>(x.size(0))), 2U);
  const int before = at::get_num_threads();
  for (const auto& layer : {normalized_relu, pooled_normalized_relu, normalized}) {
    at::set_num_threads(1);
    const NormalizedReluResults one = run_normalized_relu(x, torch::kBFloat16, layer);
    at::set_num_threads(3);
    const NormalizedReluResults three = run_normalized_relu(x, torch::kBFloat16, layer);
    EXPECT_TRUE(torch::equal(one.out, three.out));
    EXPECT_TRUE(torch::equal(one.of_x, three.of_x));
    EXPECT_TRUE(torch::equal(one.of_weight, three.of_weight));
    EXPECT_TRUE(torch::equal(one.of_bias, three.of_bias));
    EXPECT_TRUE(torch::equal(one.variance, three.variance));
  }
  at::set_num_threads(before);
}

TEST(NormalizedRelu, LeavesTheRestToLibtorch) {
  const torch::Tensor x = images(kNormShapes[0]);
  const torch::Tensor wide = x.to(torch::kFloat32);
  BatchNorm2d ours = make_norm(x.size(1)), theirs = make_norm(x.size(1));
  EXPECT_TRUE(torch::equal(normalized_relu(ours, wide), theirs->forward(wide).relu()));
  const torch::Tensor line = x.narrow(2, 0, 1).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(torch::equal(normalized_relu(ours, line), theirs->forward(line).relu()));
  const torch::Tensor pixel = x.narrow(0, 0, 1).narrow(2, 0, 1).narrow(3, 0, 1);
  EXPECT_THROW(normalized_relu(ours, pixel), c10::Error) << "one value has no variance";
  ours->eval();
  theirs->eval();
  EXPECT_TRUE(torch::equal(pooled_normalized_relu(ours, x), relu_max_pool(theirs->forward(x))));
}

TEST(NormalizedRelu, PassesOnWhatIsNotANumber) {
  torch::Tensor x = images(kNormShapes[1]);
  x[0][3][0][0] = std::nan("");
  BatchNorm2d norm = make_norm(x.size(1));
  for (const auto& layer : {normalized_relu, pooled_normalized_relu}) {
    const torch::Tensor out = layer(norm, x);
    EXPECT_TRUE(out.select(1, 3).isnan().all().item<bool>());
    EXPECT_FALSE(out.select(1, 2).isnan().any().item<bool>());
  }
}

}  // namespace
}  // namespace tandem::model
