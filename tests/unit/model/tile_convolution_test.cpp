#include "model/tile_convolution.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include "convolution_layer.hpp"
#include "tandem/model/autocast.hpp"

namespace tandem::model {
namespace {

// Few pixels and many, strides, parts of tiles.
const ConvolutionLayer kTiledLayers[] = {
    {55, 24, 5, 40, 3, 1, 1},  {32, 32, 8, 16, 3, 2, 1},  {32, 16, 8, 32, 1, 2, 0, true},
    {64, 16, 11, 24, 3, 1, 1}, {32, 16, 16, 32, 3, 2, 1}, {64, 6, 14, 16, 5, 1, 0, true}};

LayerResults run_tiles(const ConvolutionLayer& layer, bool with_amx) {
  return run_layer(layer, torch::kBFloat16,
                   [with_amx](Conv2d& convolution, const torch::Tensor& x) {
                     const AutocastScope autocast(Precision::kBf16);
                     EXPECT_TRUE(fits_tiles(*convolution, x));
                     return convolve_with_tiles(*convolution, x, with_amx);
                   });
}

std::vector<bool> with_amx() {
  return kernels::has_amx() ? std::vector{false, true} : std::vector{false};
}

TEST(TileConvolution, IsLibtorchsRoundedOnce) {
  constexpr double kRounding = 1.0 / 400;  // the root of the mean square of bfloat16's is 1 / 600
  for (const ConvolutionLayer& layer : kTiledLayers) {
    const LayerResults expected = run_layer(
        layer, torch::kFloat64,
        [](Conv2d& convolution, const torch::Tensor& x) { return convolution->forward(x); });
    for (const bool amx : with_amx()) {
      SCOPED_TRACE(::testing::Message() << layer.side << " pixels, " << layer.size << " x "
                                        << layer.size << (amx ? ", AMX" : ""));
      const LayerResults found = run_tiles(layer, amx);
      EXPECT_LT(relative_difference(found.out, expected.out), kRounding);
      // libtorch computes this gradient of large images. Without such instructions it rounds more
      // often, but layers only take tiles on a processor with AMX.
      if (layer.side * layer.side <= 64 || kernels::has_fast_bf16()) {
        EXPECT_LT(relative_difference(found.of_x, expected.of_x), kRounding);
      }
      EXPECT_LT(relative_difference(found.of_filters, expected.of_filters), 1e-6);
      EXPECT_LT(relative_difference(found.of_bias, expected.of_bias), 1e-6);
    }
  }
}

TEST(TileConvolution, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const bool amx : with_amx()) {
    at::set_num_threads(1);
    const LayerResults one = run_tiles(kTiledLayers[0], amx);
    at::set_num_threads(3);
    const LayerResults three = run_tiles(kTiledLayers[0], amx);
    EXPECT_TRUE(torch::equal(one.out, three.out));
    EXPECT_TRUE(torch::equal(one.of_x, three.of_x));
    EXPECT_TRUE(torch::equal(one.of_filters, three.of_filters));
  }
  at::set_num_threads(before);
}

TEST(TileConvolution, IsWhatALayerIsWhereTheProcessorHasAmx) {
  const ConvolutionLayer& layer = kTiledLayers[0];
  Conv2d convolution = make_convolution(layer);
  const torch::Tensor x = images_of(layer);
  const AutocastScope autocast(Precision::kBf16);
  const std::string by = convolution->forward(x).grad_fn()->name();
  EXPECT_EQ(by.find("TileConvolution") != std::string::npos, kernels::has_amx()) << by;
}

TEST(TileConvolution, LeavesTheRestToLibtorch) {
  const ConvolutionLayer& layer = kTiledLayers[0];
  Conv2d convolution = make_convolution(layer);
  const torch::Tensor x = images_of(layer);
  EXPECT_FALSE(fits_tiles(*convolution, x)) << "without autocast";
  const AutocastScope autocast(Precision::kBf16);
  ASSERT_TRUE(fits_tiles(*convolution, x));
  EXPECT_TRUE(fits_tiles(*convolution, x.to(torch::kFloat32)));
  EXPECT_FALSE(fits_tiles(*convolution, x.contiguous()));
  EXPECT_FALSE(fits_tiles(*convolution, x.narrow(0, 0, 47))) << "too few images";
  EXPECT_TRUE(fits_tiles(*convolution, x.narrow(0, 0, 48)));
  EXPECT_FALSE(fits_tiles(*convolution, x.narrow(0, 0, 0))) << "no image";
  {
    const torch::NoGradGuard no_grad;
    EXPECT_FALSE(fits_tiles(*convolution, x)) << "evaluation";
  }
  for (const Conv2dOptions& options :
       {Conv2dOptions(24, 40, {3, 1}).bias(false), Conv2dOptions(24, 40, 3).groups(8).bias(false),
        Conv2dOptions(24, 8, 3).bias(false), Conv2dOptions(24, 40, 3).stride({1, 2}).bias(false),
        Conv2dOptions(24, 40, 3).dilation(2).padding(2).bias(false),
        Conv2dOptions(24, 40, 7).bias(false), Conv2dOptions(8, 40, 3).bias(false)}) {
    Conv2d other(options);
    with_channels_last(other);
    EXPECT_FALSE(fits_tiles(*other, x)) << options.kernel_size();
  }
  convolution->weight.set_data(convolution->weight.contiguous());
  EXPECT_FALSE(fits_tiles(*convolution, x)) << "channels apart";
}

}  // namespace
}  // namespace tandem::model
