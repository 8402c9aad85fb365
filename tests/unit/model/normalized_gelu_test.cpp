#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/kernel_calls.hpp"
#include "model/layers.hpp"

namespace tandem::model {
namespace {

// Odd sizes, several parts and a part of one, and more pixels than are summed at once.
const std::vector<std::int64_t> kGeluShapes[] = {{11, 5, 6, 8}, {3, 40, 7, 9}, {1, 300, 15, 15}};

struct Norm {
  explicit Norm(std::int64_t channels, torch::Dtype type = torch::kFloat32) {
    torch::manual_seed(3);
    tensors.bias = torch::randn(channels).to(type).requires_grad_();
    tensors.running_mean = torch::zeros(channels).to(type);
    tensors.running_variance = torch::ones(channels).to(type);
    tensors.momentum = 0.4;
    tensors.epsilon = 1e-12;
  }
  NormTensors tensors;
};

torch::Tensor gelu_activations(const std::vector<std::int64_t>& shape) {
  torch::manual_seed(2);
  return (torch::randn(shape) * 3 + 4)
      .to(torch::kBFloat16)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

struct NormalizedGeluResults {
  torch::Tensor out, of_x, of_bias, mean, variance;
};

template <class Layer>
NormalizedGeluResults run_normalized_gelu(const torch::Tensor& values, torch::Dtype type,
                                          Layer layer) {
  Norm norm(values.size(1), type == torch::kFloat64 ? type : torch::kFloat32);
  const torch::Tensor x = values.detach().to(type).requires_grad_();
  const torch::Tensor out = layer(norm.tensors, x);
  torch::manual_seed(4);
  out.backward(torch::randn(out.sizes()).to(torch::kBFloat16).to(type));
  const auto wide = [](const torch::Tensor& t) { return t.detach().to(torch::kFloat64); };
  return {wide(out), wide(x.grad()), wide(norm.tensors.bias.grad()),
          wide(norm.tensors.running_mean), wide(norm.tensors.running_variance)};
}

torch::Tensor ours(const NormTensors& norm, const torch::Tensor& x) {
  return normalized_gelu(norm, Gelu(), x, true);
}

torch::Tensor exact(const NormTensors& norm, const torch::Tensor& x) {
  return torch::gelu(torch::batch_norm(x, {}, norm.bias, norm.running_mean, norm.running_variance,
                                       true, norm.momentum, norm.epsilon, false));
}

double share_of_difference(const torch::Tensor& found, const torch::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

// Rounded twice; the root of the mean square of one rounding of bfloat16 is 1 / 600.
constexpr double kTwoRoundings = 1.0 / 250;

TEST(NormalizedGelu, IsBatchNormAndGelu) {
  for (const auto& shape : kGeluShapes) {
    SCOPED_TRACE(shape[1]);
    const torch::Tensor x = gelu_activations(shape);
    const NormalizedGeluResults found = run_normalized_gelu(x, torch::kBFloat16, ours);
    const NormalizedGeluResults expected =
        run_normalized_gelu(x.contiguous(), torch::kFloat64, exact);
    EXPECT_LT(share_of_difference(found.out, expected.out), kTwoRoundings);
    EXPECT_LT(share_of_difference(found.of_x, expected.of_x), kTwoRoundings);
    // Sums in which much cancels, of no more than a few channels.
    EXPECT_LT(share_of_difference(found.of_bias, expected.of_bias), 3 * kTwoRoundings);
    EXPECT_LT(share_of_difference(found.mean, expected.mean), 1e-6);
    EXPECT_LT(share_of_difference(found.variance, expected.variance), 1e-6);
  }
}

TEST(NormalizedGelu, GivesTheSameBitsOnAnyNumberOfThreads) {
  const torch::Tensor x = gelu_activations(kGeluShapes[0]);
  ASSERT_GT(image_blocks(static_cast<std::size_t>(x.size(0))), 2U);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const NormalizedGeluResults one = run_normalized_gelu(x, torch::kBFloat16, ours);
  at::set_num_threads(3);
  const NormalizedGeluResults three = run_normalized_gelu(x, torch::kBFloat16, ours);
  at::set_num_threads(before);
  EXPECT_TRUE(torch::equal(one.out, three.out));
  EXPECT_TRUE(torch::equal(one.of_x, three.of_x));
  EXPECT_TRUE(torch::equal(one.of_bias, three.of_bias));
  EXPECT_TRUE(torch::equal(one.variance, three.variance));
}

TEST(NormalizedGelu, LeavesTheRestToLibtorch) {
  const torch::Tensor x = gelu_activations(kGeluShapes[0]);
  const torch::Tensor wide = x.to(torch::kFloat32);
  const Norm norm(x.size(1)), other(x.size(1));
  EXPECT_TRUE(torch::allclose(ours(norm.tensors, wide), exact(other.tensors, wide), 1e-6, 1e-6));
  const torch::NoGradGuard no_grad;
  norm.tensors.running_mean.fill_(4);
  const torch::Tensor learned = normalized_gelu(norm.tensors, Gelu(), x, false);
  const torch::Tensor by_hand = torch::gelu(
      (x.to(torch::kFloat32) - 4) / norm.tensors.running_variance.view({1, -1, 1, 1}).sqrt() +
      norm.tensors.bias.view({1, -1, 1, 1}));
  EXPECT_LT(share_of_difference(learned.to(torch::kFloat32), by_hand), kTwoRoundings);
  EXPECT_TRUE((norm.tensors.running_mean == 4).all().item<bool>()) << "evaluation learns nothing";
}

// The meta device stands for a GPU: it has shapes and no values.
TEST(NormalizedGelu, HasAWeightWhereLibtorchMakesNoGradientWithoutOne) {
  UnitScale scale;
  EXPECT_FALSE(scale.on(torch::kCPU, 8).defined());
  const torch::Tensor ones = scale.on(torch::kMeta, 8);
  ASSERT_TRUE(ones.defined());
  EXPECT_EQ(ones.device().type(), torch::kMeta);
  EXPECT_EQ(ones.numel(), 8);
  EXPECT_FALSE(ones.requires_grad());
  EXPECT_TRUE(ones.is_same(scale.on(torch::kMeta, 8))) << "made once, not in each step";
  EXPECT_FALSE(scale.on(torch::kCPU, 8).defined());
}

TEST(NormalizedGelu, OnesAsWeightChangeNothing) {
  const torch::Tensor x = gelu_activations(kGeluShapes[0]);
  const auto with_ones = [](NormTensors norm, const torch::Tensor& values) {
    norm.weight = torch::ones(values.size(1));
    return normalized_gelu(norm, Gelu(), values, true);
  };
  for (const torch::Tensor& values : {x, x.contiguous()}) {
    const NormalizedGeluResults found = run_normalized_gelu(values, torch::kFloat32, with_ones);
    const NormalizedGeluResults expected = run_normalized_gelu(values, torch::kFloat32, ours);
    EXPECT_TRUE(torch::equal(found.out, expected.out));
    EXPECT_TRUE(torch::equal(found.of_bias, expected.of_bias));
    EXPECT_LT(share_of_difference(found.of_x, expected.of_x), 1e-6);
  }
}

TEST(NormalizedGelu, PassesOnWhatIsNotANumber) {
  torch::Tensor x = gelu_activations(kGeluShapes[0]);
  x[0][3][0][0] = std::nan("");
  const torch::Tensor out = ours(Norm(x.size(1)).tensors, x);
  EXPECT_TRUE(out.select(1, 3).isnan().all().item<bool>());
  EXPECT_FALSE(out.select(1, 2).isnan().any().item<bool>());
}

}  // namespace
}  // namespace tandem::model
