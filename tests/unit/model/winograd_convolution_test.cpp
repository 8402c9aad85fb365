#include "model/winograd_convolution.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include "convolution_layer.hpp"
#include "tandem/model/autocast.hpp"
#include "tandem/model/registry.hpp"

namespace tandem::model {
namespace {

using kernels::ImageNumbers;
using kernels::WinogradForm;

// Odd sizes, with and without padding, of fastnet's 24 channels.
const ConvolutionLayer kWinogradLayers[] = {
    {5, 24, 15, 64, 3, 1, 1}, {3, 64, 32, 24, 3, 1, 0}, {40, 40, 4, 16, 3, 1, 1}};

Precision precision_of(const WinogradForm& form) {
  return numbers_of(form) == ImageNumbers::kFp32 ? Precision::kFp32 : Precision::kBf16;
}

LayerResults run_winograd(const ConvolutionLayer& layer, const WinogradForm& form) {
  const torch::Dtype type =
      numbers_of(form) == ImageNumbers::kFp32 ? torch::kFloat32 : torch::kBFloat16;
  return run_layer(layer, type, [&form](Conv2d& convolution, const torch::Tensor& x) {
    const AutocastScope autocast(precision_of(form));
    EXPECT_TRUE(fits_winograd(*convolution, x, form));
    const torch::Tensor out = convolve_by_winograd(*convolution, x, form);
    EXPECT_TRUE(out.is_contiguous(at::MemoryFormat::ChannelsLast));
    return out;
  });
}

// Bounds as unit/kernels/winograd_test.cpp derives them, for sums of at most 192 products.
TEST(WinogradConvolution, IsLibtorchsButForRounding) {
  for (const ConvolutionLayer& layer : kWinogradLayers) {
    const LayerResults expected = run_layer(
        layer, torch::kFloat64,
        [](Conv2d& convolution, const torch::Tensor& x) { return convolution->forward(x); });
    for (const WinogradForm* form : kernels::winograd_forms()) {
      SCOPED_TRACE(::testing::Message() << layer.side << " pixels, " << name_of(*form));
      const LayerResults found = run_winograd(layer, *form);
      const bool is_bf16 = numbers_of(*form) == ImageNumbers::kBfloat16;
      const bool has_bf16_products = is_bf16 && tile_side_of(*form) == 2;
      const double of_sums = has_bf16_products ? 6.8e-3 : 2e-6;
      const double of_results = is_bf16 ? std::max(of_sums, 2.7e-3) : of_sums;
      EXPECT_LT(relative_difference(found.out, expected.out), of_results);
      EXPECT_LT(relative_difference(found.of_x, expected.of_x), of_results);
      EXPECT_LT(relative_difference(found.of_filters, expected.of_filters), of_sums);
    }
  }
}

TEST(WinogradConvolution, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const WinogradForm* form : kernels::winograd_forms()) {
    at::set_num_threads(1);
    const LayerResults one = run_winograd(kWinogradLayers[1], *form);
    at::set_num_threads(3);
    const LayerResults three = run_winograd(kWinogradLayers[1], *form);
    EXPECT_TRUE(torch::equal(one.out, three.out));
    EXPECT_TRUE(torch::equal(one.of_x, three.of_x));
    EXPECT_TRUE(torch::equal(one.of_filters, three.of_filters));
  }
  at::set_num_threads(before);
}

bool is_by_winograd(Conv2d& convolution, const torch::Tensor& x) {
  const auto node = convolution->forward(x).grad_fn();
  return node && node->name().find("WinogradConvolution") != std::string::npos;
}

TEST(WinogradConvolution, IsWhatALayerIsIfItIsChosen) {
  Conv2d convolution = make_convolution(kWinogradLayers[0]);
  const torch::Tensor x = images_of(kWinogradLayers[0]).to(torch::kFloat32);
  const bool has_form = kernels::best_winograd_form(ImageNumbers::kFp32) != nullptr;
  EXPECT_FALSE(is_by_winograd(convolution, x)) << "direct by default";
  convolution->choice = ConvolutionChoice::kAuto;
  EXPECT_EQ(is_by_winograd(convolution, x), has_form);
  {
    const AutocastScope autocast(Precision::kBf16);
    EXPECT_EQ(is_by_winograd(convolution, x), has_form && !kernels::has_amx());
  }
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(is_by_winograd(convolution, x)) << "evaluation";
  EXPECT_TRUE(
      torch::equal(convolution->forward(x), convolution->torch::nn::Conv2dImpl::forward(x)));
}

TEST(WinogradConvolution, IsChosenForAllLayersOfANetwork) {
  for (const char* name : {"resnet9", "resnet18", "resnet50", "fastnet"}) {
    const NetworkPtr network = make_network(name, {3, 32, 32}, 10);
    choose_convolution(*network, ConvolutionChoice::kAuto);
    int layers = 0;
    for (const auto& module : network->modules()) {
      const auto* const convolution = module->as<Conv2dImpl>();
      if (convolution == nullptr) continue;
      ++layers;
      EXPECT_EQ(convolution->choice, ConvolutionChoice::kAuto);
    }
    EXPECT_GT(layers, 4) << name;
  }
}

TEST(WinogradConvolution, LeavesTheRestToLibtorch) {
  const WinogradForm& form = *kernels::winograd_forms().front();
  const auto fits = [&form](const Conv2dOptions& options, std::int64_t images, std::int64_t side) {
    Conv2d convolution(options);
    with_channels_last(convolution);
    const torch::Tensor x = torch::zeros({images, options.in_channels(), side, side})
                                .contiguous(at::MemoryFormat::ChannelsLast);
    return fits_winograd(*convolution, x, form);
  };
  const auto plain = [] { return Conv2dOptions(32, 32, 3).padding(1).bias(false); };
  EXPECT_TRUE(fits(plain(), 8, 8));
  EXPECT_TRUE(fits(plain().padding(0), 8, 16));
  EXPECT_FALSE(fits(plain().padding(2), 8, 8));
  EXPECT_FALSE(fits(plain(), 7, 8)) << "few tiles";
  EXPECT_FALSE(fits(plain(), 64, 3)) << "small images";
  EXPECT_FALSE(fits(plain(), 64, 5)) << "tiles that are mostly empty";
  EXPECT_FALSE(fits(plain().stride(2), 8, 16));
  EXPECT_FALSE(fits(plain().dilation(2), 8, 16));
  EXPECT_FALSE(fits(plain().groups(2), 8, 16));
  EXPECT_FALSE(fits(plain().bias(true), 8, 16));
  EXPECT_FALSE(fits(plain().padding_mode(torch::kReflect), 8, 16)) << "no zeros outside";
  EXPECT_FALSE(fits(Conv2dOptions(32, 32, 1).bias(false), 8, 16));
  EXPECT_FALSE(fits(Conv2dOptions(3, 32, 3).bias(false), 8, 32)) << "a first layer";

  Conv2d convolution = make_convolution(kWinogradLayers[0]);
  const torch::Tensor x = images_of(kWinogradLayers[0]).to(torch::kFloat32);
  ASSERT_TRUE(fits_winograd(*convolution, x, form));
  EXPECT_FALSE(fits_winograd(*convolution, x.contiguous(), form));
  EXPECT_FALSE(fits_winograd(*convolution, x.to(torch::kFloat64), form));
  {
    const AutocastScope autocast(Precision::kBf16);
    EXPECT_FALSE(fits_winograd(*convolution, x, form)) << "a form for fp32";
  }
  convolution->weight.set_data(convolution->weight.contiguous());
  EXPECT_FALSE(fits_winograd(*convolution, x, form)) << "channels apart";
}

}  // namespace
}  // namespace tandem::model
