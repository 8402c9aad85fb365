#include "tandem/model/gradient_target.hpp"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "convolution_layer.hpp"
#include "model/tile_convolution.hpp"
#include "model/winograd_convolution.hpp"
#include "tandem/model/autocast.hpp"

namespace tandem::model {
namespace {

// The bits, and the order of the numbers.
bool has_same_bits(const torch::Tensor& one, const torch::Tensor& other) {
  return one.strides() == other.strides() &&
         std::memcmp(one.data_ptr(), other.data_ptr(), one.nbytes()) == 0;
}

// Counts the calls of autograd's sum for a parameter, and those that get a tensor.
struct Arrivals final : torch::autograd::FunctionPreHook {
  Arrivals(int& all, int& tensors) : arrivals(all), with_tensor(tensors) {}
  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& gradients) override {
    ++arrivals;
    with_tensor += gradients.front().defined() ? 1 : 0;
    return gradients;
  }
  int &arrivals, &with_tensor;
};

// A layer with a weight, and how it is computed.
struct WatchedLayer {
  std::string name;
  std::function<torch::Tensor()> make_loss;
  torch::Tensor weight;
};

torch::Tensor loss_of(const torch::Tensor& out) {
  torch::manual_seed(4);
  return (out.to(torch::kFloat32) * torch::randn(out.sizes())).sum();
}

std::vector<WatchedLayer> layers_with_kernels() {
  std::vector<WatchedLayer> layers;
  const ConvolutionLayer few_pixels{35, 24, 5, 40, 3, 1, 1}, many_pixels{32, 16, 16, 32, 3, 2, 1};
  for (const ConvolutionLayer& sizes : {few_pixels, many_pixels}) {
    Conv2d convolution = make_convolution(sizes);
    layers.push_back({"tiles, side " + std::to_string(sizes.side),
                      [convolution, sizes]() {
                        const AutocastScope autocast(Precision::kBf16);
                        return loss_of(convolve_with_tiles(*convolution, images_of(sizes), false));
                      },
                      convolution->weight});
  }
  for (const kernels::WinogradForm* form : kernels::winograd_forms()) {
    Conv2d convolution = make_convolution(few_pixels);
    const bool is_fp32 = numbers_of(*form) == kernels::ImageNumbers::kFp32;
    layers.push_back({std::string(name_of(*form)),
                      [convolution, few_pixels, form, is_fp32]() {
                        torch::Tensor images = images_of(few_pixels);
                        if (is_fp32) images = images.to(torch::kFloat32);
                        return loss_of(convolve_by_winograd(*convolution, images, *form));
                      },
                      convolution->weight});
  }
  torch::manual_seed(3);
  torch::nn::Linear linear(70, 45);
  layers.push_back(
      {"linear",
       [linear]() mutable {
         torch::manual_seed(2);
         return loss_of(linear_with_tiles(linear, torch::randn({37, 70}), true, false));
       },
       linear->weight});
  return layers;
}

// The reference: libtorch adds the gradient to zeros, and the next one to the sum.
TEST(GradientTarget, HasTheBitsThatLibtorchsSumHas) {
  for (WatchedLayer& layer : layers_with_kernels()) {
    SCOPED_TRACE(layer.name);
    layer.weight.mutable_grad() = torch::zeros_like(layer.weight);
    layer.make_loss().backward();
    const torch::Tensor once = layer.weight.grad().clone();
    layer.make_loss().backward();
    const torch::Tensor twice = layer.weight.grad().clone();
    ASSERT_GT(once.abs().max().item<float>(), 0);

    layer.weight.mutable_grad() = torch::full_like(layer.weight, std::nanf(""));
    const void* memory = layer.weight.grad().data_ptr();
    GradientTarget target(layer.weight);
    int arrivals = 0, tensors = 0;
    torch::autograd::impl::grad_accumulator(layer.weight)
        ->add_pre_hook(std::make_unique<Arrivals>(arrivals, tensors));
    target.clear();
    layer.make_loss().backward();
    EXPECT_TRUE(has_same_bits(layer.weight.grad(), once));
    layer.make_loss().backward();
    EXPECT_TRUE(has_same_bits(layer.weight.grad(), twice));
    target.clear();
    layer.make_loss().backward();
    EXPECT_TRUE(has_same_bits(layer.weight.grad(), once));
    EXPECT_EQ(layer.weight.grad().data_ptr(), memory);
    EXPECT_EQ(arrivals, 3) << "a hook after it would miss the gradient";
    EXPECT_EQ(tensors, 0) << "a gradient of the weight's size was made on the way";
  }
}

TEST(GradientTarget, IsReplacedByWhatLibtorchComputes) {
  torch::Tensor parameter = torch::ones({3, 5}).requires_grad_();
  parameter.mutable_grad() = torch::full({3, 5}, std::nanf(""));
  GradientTarget target(parameter);
  target.clear();
  (parameter * 2).sum().backward();
  EXPECT_TRUE(torch::equal(parameter.grad(), torch::full({3, 5}, 2.0F)));
  (parameter * 3).sum().backward();
  EXPECT_TRUE(torch::equal(parameter.grad(), torch::full({3, 5}, 5.0F)));
}

// In one backward pass: two that write, and one of libtorch's.
TEST(GradientTarget, SumsOverLayersThatShareAParameter) {
  const ConvolutionLayer sizes{33, 20, 5, 20, 3, 1, 1};
  Conv2d convolution = make_convolution(sizes);
  const auto pass = [&] {
    const AutocastScope autocast(Precision::kBf16);
    const torch::Tensor once = convolve_with_tiles(*convolution, images_of(sizes), false);
    const torch::Tensor twice = convolve_with_tiles(*convolution, once, false);
    (loss_of(twice) + convolution->weight.square().sum()).backward();
  };
  pass();
  const torch::Tensor expected = convolution->weight.grad().clone();
  convolution->weight.mutable_grad().fill_(std::nanf(""));
  GradientTarget target(convolution->weight);
  target.clear();
  pass();
  const torch::Tensor difference = convolution->weight.grad() - expected;
  EXPECT_LT((difference.norm() / expected.norm()).item<float>(), 1e-6);
}

TEST(GradientTarget, WritesTheZerosThatNothingHasReplaced) {
  torch::Tensor parameter = torch::ones({7}).requires_grad_();
  parameter.mutable_grad() = torch::full({7}, std::nanf(""));
  GradientTarget target(parameter);
  target.complete();
  EXPECT_TRUE(parameter.grad().isnan().all().item<bool>()) << "nothing was cleared";
  target.clear();
  target.complete();
  EXPECT_EQ(parameter.grad().count_nonzero().item<std::int64_t>(), 0);
  parameter.sum().backward();
  target.complete();
  EXPECT_TRUE(torch::equal(parameter.grad(), torch::ones({7})));
}

TEST(GradientTarget, EndsWithItsDestructor) {
  const ConvolutionLayer sizes{33, 20, 5, 20, 3, 1, 1};
  Conv2d convolution = make_convolution(sizes);
  const auto accumulator = torch::autograd::impl::grad_accumulator(convolution->weight);
  {
    GradientTarget target(convolution->weight);
    GradientTarget moved(std::move(target));
    moved.clear();
    EXPECT_EQ(accumulator->pre_hooks().size(), 1U);
  }
  EXPECT_TRUE(accumulator->pre_hooks().empty());
  loss_of(convolve_with_tiles(*convolution, images_of(sizes), false)).backward();
  EXPECT_TRUE(convolution->weight.grad().defined());
}

TEST(GradientTarget, LeavesFrozenFiltersWithoutGradient) {
  const ConvolutionLayer sizes{33, 20, 5, 20, 3, 1, 1};
  Conv2d convolution = make_convolution(sizes);
  convolution->weight.set_requires_grad(false);
  const torch::Tensor x = images_of(sizes).requires_grad_();
  loss_of(convolve_with_tiles(*convolution, x, false)).backward();
  EXPECT_FALSE(convolution->weight.grad().defined());
  EXPECT_GT(x.grad().abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace tandem::model
