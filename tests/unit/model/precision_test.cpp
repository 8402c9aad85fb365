#include <gtest/gtest.h>
#include <torch/version.h>

#include "tandem/core/error.hpp"
#include "tandem/model/autocast.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

torch::ScalarType result_type(torch::nn::Linear& layer) {
  return layer->forward(torch::ones({2, 4})).scalar_type();
}

TEST(Precision, IsReadFromItsName) {
  EXPECT_EQ(precision_names(), (std::vector<std::string>{"fp32", "tf32", "bf16", "fp16"}));
  EXPECT_EQ(parse_precision("fp32"), Precision::kFp32);
  EXPECT_EQ(parse_precision("tf32"), Precision::kTf32);
  EXPECT_EQ(parse_precision("bf16"), Precision::kBf16);
  EXPECT_EQ(parse_precision("fp16"), Precision::kFp16);
  EXPECT_THROW(parse_precision("BF16"), UsageError);
  EXPECT_THROW(parse_precision(""), UsageError);
}

TEST(Precision, OfTensorCoresAloneNeedsAGpu) {
  EXPECT_TRUE(needs_gpu(Precision::kTf32));
  EXPECT_TRUE(needs_gpu(Precision::kFp16));
  EXPECT_FALSE(needs_gpu(Precision::kFp32));
  EXPECT_FALSE(needs_gpu(Precision::kBf16));
}

TEST(AutocastScope, ChangesTheTypeInsideOnly) {
  torch::nn::Linear layer(4, 3);
  {
    const AutocastScope scope(Precision::kBf16);
    EXPECT_EQ(result_type(layer), torch::kBFloat16);
    {
      const AutocastScope inner(Precision::kFp32);
      EXPECT_EQ(result_type(layer), torch::kFloat32);
    }
    EXPECT_EQ(result_type(layer), torch::kBFloat16);
  }
  EXPECT_EQ(result_type(layer), torch::kFloat32);
  EXPECT_EQ(layer->weight.scalar_type(), torch::kFloat32);
}

TEST(AutocastScope, LeavesTypesAloneForTf32) {
  torch::nn::Linear layer(4, 3);
  const AutocastScope scope(Precision::kTf32);
  EXPECT_EQ(result_type(layer), torch::kFloat32);
}

TEST(AutocastScope, SeesWeightsThatChangedSinceTheLastScope) {
  torch::nn::Linear layer(4, 1);
  const auto sum_of_weights = [&layer] {
    const AutocastScope scope(Precision::kBf16);
    return (layer->forward(torch::ones({1, 4})) - layer->bias).item<float>();
  };
  const torch::NoGradGuard no_grad;
  layer->bias.zero_();
  layer->weight.fill_(1);
  {
    const torch::AutoGradMode with_grad(
        true);  // only casts of weights that need a gradient are kept
    EXPECT_EQ(sum_of_weights(), 4);
  }
  layer->weight.fill_(2);
  const torch::AutoGradMode with_grad(true);
  EXPECT_EQ(sum_of_weights(), 8);
}

TEST(AutocastScope, RestoresWhenAnExceptionPasses) {
  try {
    const AutocastScope scope(Precision::kBf16);
    throw UsageError("");
  } catch (const UsageError&) {
  }
  EXPECT_FALSE(autocast_on(torch::kCPU).enabled);
}

TEST(AutocastScope, GradientsOfFloatWeightsAreFloat) {
  torch::nn::Linear layer(4, 3);
  torch::Tensor loss;
  {
    const AutocastScope scope(Precision::kBf16);
    loss = layer->forward(torch::ones({2, 4})).to(torch::kFloat32).sum();
  }
  loss.backward();
  EXPECT_EQ(layer->weight.grad().scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::allclose(layer->weight.grad(), torch::full({3, 4}, 2.0F)));
}

TEST(TorchVersion, IsThatOfTheHeaders) {
  const std::string version = torch_version();
  const std::string major_minor =
      std::to_string(TORCH_VERSION_MAJOR) + "." + std::to_string(TORCH_VERSION_MINOR) + ".";
  EXPECT_EQ(version.substr(0, major_minor.size()), major_minor);
  EXPECT_EQ(version.find_first_of(" ,="), std::string::npos) << version;
}

}  // namespace
}  // namespace tandem::model
