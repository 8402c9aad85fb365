// Fused normalization beside libtorch's operators in double, and bits that repeat.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>

#include "support/emulated_gpu.hpp"
#include "tandem/model/fused_operators.hpp"

namespace tandem::model::fused {
namespace {

using torch::Tensor;

struct Case {
  std::vector<std::int64_t> shape;
  torch::ScalarType type;
  NormForm form;
  bool has_weight = true, has_residual = false;
};

std::string text_of(const Case& one) {
  std::string text = std::string(c10::toString(one.type)) + ", pool " +
                     std::to_string(static_cast<int>(one.form.pool)) + ", activation " +
                     std::to_string(static_cast<int>(one.form.activation)) + ", shape";
  for (const std::int64_t size : one.shape) text += " " + std::to_string(size);
  return text + (one.has_weight ? ", weight" : "") + (one.has_residual ? ", residual" : "");
}

Tensor images(const std::vector<std::int64_t>& shape, torch::ScalarType type, double mean) {
  return (torch::randn(shape) * 2 + mean).to(type).contiguous(at::MemoryFormat::ChannelsLast);
}

struct Results {
  Tensor y, of_x, of_weight, of_bias, of_residual, running_mean, running_variance;
  std::vector<Tensor> all() const {
    return {y, of_x, of_weight, of_bias, of_residual, running_mean, running_variance};
  }
};

// The same inputs for each way of computing.
struct Inputs {
  explicit Inputs(const Case& one) : form(one.form) {
    torch::manual_seed(1);
    const std::int64_t channels = one.shape[1];
    x = images(one.shape, one.type, 5);
    if (one.has_weight) weight = torch::randn({channels});
    bias = torch::randn({channels});
    mean = torch::randn({channels});
    variance = torch::rand({channels});
    std::vector<std::int64_t> shape = one.shape;
    if (form.pool != Pool::kNone) shape[2] /= 2, shape[3] /= 2;
    if (one.has_residual) residual = images(shape, one.type, 0);
    gradient = images(shape, one.type, 0);
    for (Tensor* each : {&x, &weight, &bias, &mean, &variance, &residual, &gradient}) {
      if (each->defined()) *each = gpu::placed(*each);
    }
  }

  Results fused() const {
    Results results;
    results.running_mean = mean.clone();
    results.running_variance = variance.clone();
    const NormOutput out = norm_forward(
        {x, weight, bias, residual, results.running_mean, results.running_variance, 0.4, 1e-5},
        form);
    const NormSaved saved{form.pool == Pool::kBeforeNorm ? out.pooled : x,
                          out.choice,
                          out.factors,
                          residual,
                          x.size(2),
                          x.size(3)};
    const NormGradients gradients = norm_backward(gradient, saved, form);
    results.y = out.y;
    results.of_x = gradients.of_x;
    results.of_weight = gradients.of_weight;
    results.of_bias = gradients.of_bias;
    results.of_residual = gradients.of_residual;
    return results;
  }

  Results separate() const {
    const auto leaf = [](const Tensor& tensor) {
      return tensor.to(torch::kCPU, torch::kFloat64).detach().requires_grad_();
    };
    const Tensor in = leaf(x), shift = leaf(bias);
    const Tensor scale = leaf(weight.defined() ? weight : torch::ones_like(bias));
    Results results;
    results.running_mean = mean.to(torch::kCPU, torch::kFloat64);
    results.running_variance = variance.to(torch::kCPU, torch::kFloat64);
    Tensor v = form.pool == Pool::kBeforeNorm ? torch::max_pool2d(in, 2) : in;
    v = torch::batch_norm(v, scale, shift, results.running_mean, results.running_variance, true,
                          0.4, 1e-5, false);
    if (form.pool == Pool::kAfterNorm) v = torch::max_pool2d(v, 2);
    Tensor added;
    if (residual.defined()) {
      added = leaf(residual);
      v = v + added;
    }
    if (form.activation == Activation::kRelu) v = torch::relu(v);
    if (form.activation == Activation::kGelu) v = torch::gelu(v);
    torch::autograd::backward({v}, {gradient.to(torch::kCPU, torch::kFloat64)});
    results.y = v.detach();
    results.of_x = in.grad();
    results.of_weight = scale.grad();
    results.of_bias = shift.grad();
    results.of_residual = added.defined() ? added.grad() : torch::empty({0});
    return results;
  }

  NormForm form;
  Tensor x, weight, bias, mean, variance, residual, gradient;
};

// `extra`: what an element is as large as, where it is a small difference of such.
void expect_close(const Tensor& found, const Tensor& expected, double tolerance, double extra,
                  const std::string& what) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  if (found.numel() == 0) return;
  const Tensor difference = (found.to(torch::kCPU, torch::kFloat64) - expected).abs();
  const Tensor size = expected.abs() + expected.abs().mean() + extra;
  EXPECT_LE((difference / size).max().item<double>(), tolerance) << what;
}

void compare(const Case& one) {
  const std::string text = text_of(one);
  const Inputs inputs(one);
  const Results found = inputs.fused(), expected = inputs.separate();
  const double rounding = one.type == torch::kFloat32    ? 2e-4
                          : one.type == torch::kBFloat16 ? 9e-3
                                                         : 1.5e-3;
  const double size = inputs.gradient.to(torch::kFloat32).abs().mean().item<double>() *
                      (inputs.weight.defined() ? inputs.weight.abs().max().item<double>() : 1);
  expect_close(found.y, expected.y, rounding, 0, "y: " + text);
  expect_close(found.of_x, expected.of_x, rounding, size, "gradient of x: " + text);
  expect_close(found.of_weight, expected.of_weight, 2e-4, size, "of weight: " + text);
  expect_close(found.of_bias, expected.of_bias, 2e-4, size, "of bias: " + text);
  expect_close(found.of_residual, expected.of_residual, rounding, 0, "of residual: " + text);
  expect_close(found.running_mean, expected.running_mean, 1e-5, 0, "mean: " + text);
  expect_close(found.running_variance, expected.running_variance, 1e-4, 0, "variance: " + text);
  gpu::emulated::run_backwards(true);
  const Results again = inputs.fused();
  gpu::emulated::run_backwards(false);
  for (std::size_t i = 0; i < found.all().size(); ++i) {
    EXPECT_TRUE(found.all()[i].equal(again.all()[i])) << i << " depends on the order: " << text;
  }
}

constexpr NormForm kForms[] = {{Pool::kNone, Activation::kNone},
                               {Pool::kNone, Activation::kRelu},
                               {Pool::kNone, Activation::kGelu},
                               {Pool::kBeforeNorm, Activation::kGelu},
                               {Pool::kAfterNorm, Activation::kRelu}};

TEST(Norm, EqualsSeparateOperators) {
  int count = 0;
  for (const NormForm& form : kForms) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16, torch::kFloat16}) {
      for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
               {3, 8, 3, 3}, {2, 16, 4, 2}, {5, 24, 7, 9}, {3, 40, 5, 4}}) {
        compare({shape, type, form, ++count % 2 == 0});
      }
    }
  }
}

TEST(Norm, TakesManyChannels) {
  for (const std::int64_t channels : {64, 136, 264}) {
    for (const NormForm& form : kForms) compare({{2, channels, 5, 4}, torch::kBFloat16, form});
  }
}

TEST(Norm, AddsAResidual) {
  for (const auto activation : {Activation::kNone, Activation::kRelu, Activation::kGelu}) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
      compare({{3, 8, 5, 3}, type, {Pool::kNone, activation}, true, true});
      compare({{3, 24, 4, 3}, type, {Pool::kNone, activation}, true, true});
    }
  }
}

TEST(Norm, AddsTheSumsOfManyBlocks) {
  compare({{40, 4, 20, 21}, torch::kFloat32, {Pool::kNone, Activation::kGelu}});
  // The threads read the sums of so many blocks in several rounds. The second tile is not full.
  compare({{70, 72, 16, 16}, torch::kBFloat16, {Pool::kNone, Activation::kRelu}});
}

TEST(BiasActivation, EqualsSeparateOperators) {
  for (const auto type : {torch::kFloat32, torch::kBFloat16, torch::kFloat16}) {
    for (const std::int64_t channels : {8, 24}) {
      torch::manual_seed(1);
      const Tensor x = images({40, channels, 9, 7}, type, 0), bias = torch::randn({channels});
      const Tensor gradient = images({40, channels, 9, 7}, type, 0);
      const Tensor y = bias_activation(gpu::placed(x), gpu::placed(bias), Activation::kGelu);
      const Tensor of_bias = bias_gradient(gpu::placed(gradient), gpu::placed(x), gpu::placed(bias),
                                           Activation::kGelu);

      const Tensor leaf = bias.to(torch::kFloat64).requires_grad_();
      const Tensor expected = torch::gelu(x.to(torch::kFloat64) + leaf.view({1, -1, 1, 1}));
      torch::autograd::backward({expected}, {gradient.to(torch::kFloat64)});
      const double rounding = type == torch::kFloat32    ? 2e-6
                              : type == torch::kBFloat16 ? 5e-3
                                                         : 1e-3;
      expect_close(y, expected.detach(), rounding, 0, "y");
      expect_close(of_bias, leaf.grad(), 1e-4, 1, "gradient of the bias");
    }
  }
}

TEST(Norm, TakesViewsThatAreNotAligned) {
  const Tensor memory = torch::randn({1 + 2 * 4 * 3 * 3}).to(gpu::test_device());
  const Tensor x = memory.narrow(0, 1, 72).view({2, 3, 3, 4}).permute({0, 3, 1, 2});
  const Tensor bias = torch::zeros({4}, gpu::test_device());
  const NormForm form{Pool::kNone, Activation::kRelu};
  const NormOutput odd = norm_forward({x, {}, bias, {}, {}, {}, 0.1, 1e-5}, form);
  const NormOutput even = norm_forward({x.clone(), {}, bias, {}, {}, {}, 0.1, 1e-5}, form);
  EXPECT_TRUE(odd.y.allclose(even.y, 1e-5, 1e-6));
}

TEST(Norm, TakesTwoLaunchesEachWay) {
  const std::uint64_t before = gpu::emulated::launches();
  Inputs({{2, 8, 4, 4}, torch::kBFloat16, {Pool::kBeforeNorm, Activation::kGelu}}).fused();
  EXPECT_EQ(gpu::emulated::launches() - before, 4U);
}

TEST(Norm, RefusesOtherTensors) {
  const Tensor bias = torch::zeros({4}, gpu::test_device());
  const auto forward = [&](const Tensor& x, NormForm form) {
    norm_forward({x.to(bias.device()), {}, bias, {}, {}, {}, 0.1, 1e-5}, form);
  };
  const Tensor x = images({2, 4, 4, 4}, torch::kFloat32, 0);
  EXPECT_THROW(forward(x.contiguous(), {}), c10::Error);
  EXPECT_THROW(forward(x.to(torch::kFloat64), {}), c10::Error);
  EXPECT_THROW(forward(images({2, 5, 4, 4}, torch::kFloat32, 0), {}), c10::Error);
  EXPECT_THROW(forward(images({1, 4, 1, 1}, torch::kFloat32, 0), {}), c10::Error);
  const auto relu_after = NormForm{Pool::kAfterNorm, Activation::kRelu};
  EXPECT_NO_THROW(forward(x, relu_after));
  EXPECT_THROW(forward(x, {Pool::kAfterNorm, Activation::kGelu}), c10::Error);
  EXPECT_THROW(forward(x, {Pool::kBeforeNorm, Activation::kRelu}), c10::Error);
  EXPECT_THROW(
      forward(images({1, 4, 2, 2}, torch::kFloat32, 0), {Pool::kBeforeNorm, Activation::kGelu}),
      c10::Error);
  EXPECT_THROW(forward(images({2, 4, 4, 4}, torch::kBFloat16, 0), {}), c10::Error);
}

}  // namespace
}  // namespace tandem::model::fused
