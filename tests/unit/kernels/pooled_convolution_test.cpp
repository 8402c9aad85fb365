#include "tandem/kernels/pooled_convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/pooled_convolution_loops.hpp"
#include "tandem/core/random.hpp"
#include "tandem/kernels/bfloat16.hpp"

namespace tandem::kernels {
namespace {

constexpr std::size_t kSide = PooledConvolutionSizes::kSide;
constexpr std::size_t kImages = 2;

// Numbers of few bits: sums of their products are exact in float, so that what is computed in
// another order must be equal.
std::vector<float> numbers(std::size_t size, std::uint64_t seed) {
  CounterRandom random{seed, 0};
  std::vector<float> result(size);
  for (float& each : result) each = static_cast<float>(std::floor(random.uniform() * 65)) / 16 - 2;
  return result;
}

// By the definition, each result from its own 25 pixels.
class Reference {
 public:
  Reference(const PooledConvolutionSizes& sizes, std::vector<float> images,
            std::vector<float> filters, std::vector<float> bias)
      : sizes_(sizes),
        images_(std::move(images)),
        filters_(std::move(filters)),
        bias_(std::move(bias)) {}

  float result(std::size_t image, std::size_t filter, std::size_t row, std::size_t column) const {
    float sum = bias_[filter];
    for_each_product(image, filter, row, column, [&](std::size_t pixel, std::size_t weight) {
      sum += images_[pixel] * filters_[weight];
    });
    return sum;
  }

  template <class Task>
  void for_each_product(std::size_t image, std::size_t filter, std::size_t row, std::size_t column,
                        const Task& task) const {
    for (std::size_t channel = 0; channel < sizes_.channels; ++channel) {
      for (std::size_t k = 0; k < kSide * kSide; ++k) {
        const std::size_t y = row + k / kSide, x = column + k % kSide;  // of the padded image
        if (y < sizes_.padding || y >= sizes_.padding + sizes_.height) continue;
        if (x < sizes_.padding || x >= sizes_.padding + sizes_.width) continue;
        task(((image * sizes_.channels + channel) * sizes_.height + y - sizes_.padding) *
                     sizes_.width +
                 x - sizes_.padding,
             (filter * sizes_.channels + channel) * kSide * kSide + k);
      }
    }
  }

 private:
  const PooledConvolutionSizes sizes_;
  const std::vector<float> images_, filters_, bias_;
};

struct PooledCase {
  const char* what;
  PooledConvolutionSizes sizes;
};

PooledConvolutionSizes pooled_sizes(std::size_t channels, std::size_t height, std::size_t width,
                                    std::size_t filters, std::size_t padding) {
  PooledConvolutionSizes result;
  result.channels = channels;
  result.height = height;
  result.width = width;
  result.filters = filters;
  result.padding = padding;
  return result;
}

const PooledCase kPooledCases[] = {
    {"first layer of simple", pooled_sizes(3, 32, 32, 6, 0)},
    {"second layer of simple", pooled_sizes(6, 14, 14, 16, 0)},
    {"first layer of lenet", pooled_sizes(1, 28, 28, 6, 2)},
    {"an odd number of filters", pooled_sizes(2, 12, 12, 3, 0)},
    {"results of odd numbers, and no square", pooled_sizes(1, 13, 17, 2, 1)},
    {"more than one vector in a line", pooled_sizes(1, 8, 70, 1, 0)},
    {"one pooled result", pooled_sizes(1, 6, 6, 1, 0)},
    {"odd padding of odd lines", pooled_sizes(4, 9, 11, 5, 3)},
};

Strides planar(std::size_t channels, std::size_t height, std::size_t width) {
  return {channels * height * width, height * width, width, 1};
}

TEST(PooledConvolution, IsItsDefinition) {
  for (const PooledCase& each : kPooledCases) {
    SCOPED_TRACE(each.what);
    const PooledConvolutionSizes& s = each.sizes;
    const std::size_t pixels = kImages * s.channels * s.height * s.width;
    const std::vector<float> images = numbers(pixels, 1);
    const std::vector<float> filters = numbers(s.filters * s.channels * kSide * kSide, 2);
    const std::vector<float> bias = numbers(s.filters, 3);
    const Strides image_strides = planar(s.channels, s.height, s.width);
    const Strides filter_strides = planar(s.channels, kSide, kSide);
    const PooledConvolution layer(s, filters.data(), filter_strides, bias.data(), false);

    const std::size_t outputs = kImages * s.filters * s.out_pixels();
    std::vector<float> out(outputs);
    std::vector<std::uint8_t> argmax(outputs);
    layer.forward({images.data(), image_strides, kImages}, out.data(), argmax.data());
    const std::vector<float> gradients = numbers(outputs, 4);
    std::vector<float> sums(layer.sums_size());
    std::vector<float> of_images(pixels, -1), of_filters(filters.size(), -1), of_bias(bias.size());
    layer.backward({images.data(), image_strides, kImages}, gradients.data(), argmax.data(),
                   sums.data(), of_images.data());
    layer.read_sums(sums.data(), of_filters.data(), filter_strides, of_bias.data());

    const Reference reference(s, images, filters, bias);
    std::vector<float> images_expected(pixels), filters_expected(filters.size()),
        bias_expected(bias.size());
    std::size_t to = 0, chosen = 0;
    for (std::size_t image = 0; image < kImages; ++image) {
      for (std::size_t filter = 0; filter < s.filters; ++filter) {
        for (std::size_t row = 0; row < s.out_height(); ++row) {
          for (std::size_t column = 0; column < s.out_width(); ++column, ++to) {
            float best = 0;
            std::size_t place = PooledConvolution::kNone;
            for (std::size_t k = 0; k < 4; ++k) {
              const float value =
                  reference.result(image, filter, 2 * row + k / 2, 2 * column + k % 2);
              if (value > best) {
                best = value;
                place = k;
              }
            }
            ASSERT_EQ(out[to], best) << to;
            ASSERT_EQ(argmax[to], place) << to;
            if (place == PooledConvolution::kNone) continue;
            ++chosen;
            bias_expected[filter] += gradients[to];
            reference.for_each_product(image, filter, 2 * row + place / 2, 2 * column + place % 2,
                                       [&](std::size_t pixel, std::size_t weight) {
                                         images_expected[pixel] += gradients[to] * filters[weight];
                                         filters_expected[weight] += gradients[to] * images[pixel];
                                       });
          }
        }
      }
    }
    EXPECT_EQ(of_images, images_expected);
    EXPECT_EQ(of_filters, filters_expected);
    EXPECT_EQ(of_bias, bias_expected);
    EXPECT_GT(chosen, 0U);
  }
}

TEST(PooledConvolution, ReadsAndWritesAnyOrderOfDimensions) {
  const PooledConvolutionSizes s = pooled_sizes(3, 10, 12, 4, 0);
  const std::vector<float> images = numbers(kImages * 3 * 10 * 12, 5);
  const std::vector<float> filters = numbers(4 * 3 * kSide * kSide, 6);
  std::vector<float> images_last(images.size()), filters_last(filters.size());
  const auto permute = [](const std::vector<float>& from, std::size_t items, std::size_t area,
                          std::vector<float>& to) {
    for (std::size_t i = 0; i < items; ++i) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        for (std::size_t k = 0; k < area; ++k) {
          to[(i * area + k) * 3 + channel] = from[(i * 3 + channel) * area + k];
        }
      }
    }
  };
  permute(images, kImages, 120, images_last);
  permute(filters, 4, kSide * kSide, filters_last);
  const Strides image_strides[] = {planar(3, 10, 12), {360, 1, 36, 3}};
  const Strides filter_strides[] = {planar(3, kSide, kSide), {75, 1, 15, 3}};
  const float* image_data[] = {images.data(), images_last.data()};
  const float* filter_data[] = {filters.data(), filters_last.data()};

  std::vector<float> out[2], of_images[2], of_filters[2];
  for (std::size_t k = 0; k < 2; ++k) {
    const PooledConvolution layer(s, filter_data[k], filter_strides[k], nullptr, false);
    out[k].resize(kImages * 4 * s.out_pixels());
    std::vector<std::uint8_t> argmax(out[k].size());
    layer.forward({image_data[k], image_strides[k], kImages}, out[k].data(), argmax.data());
    std::vector<float> sums(layer.sums_size());
    of_images[k].resize(images.size());
    of_filters[k].resize(filters.size());
    layer.backward({image_data[k], image_strides[k], kImages}, out[k].data(), argmax.data(),
                   sums.data(), of_images[k].data());
    layer.read_sums(sums.data(), of_filters[k].data(), filter_strides[k], nullptr);
  }
  std::vector<float> expected(filters.size());
  permute(of_filters[0], 4, kSide * kSide, expected);
  EXPECT_EQ(out[0], out[1]);
  EXPECT_EQ(of_images[0], of_images[1]);
  EXPECT_EQ(of_filters[1], expected);
}

// One pixel of 1 in the middle of zeros: results are the filter's numbers and their bias.
TEST(PooledConvolution, RoundsWhatGoesInAndWhatComesOut) {
  const float fine = 1 + 1.0F / 512;  // halfway between two bfloat16 numbers
  const PooledConvolutionSizes s = pooled_sizes(1, 6, 6, 1, 0);
  std::vector<float> image(36), filter(25);
  image[0] = fine;
  filter[0] = fine;
  const float bias = 1.0F / 64;  // 1.015625 has all its bits in bfloat16, 1.0175 has not
  const auto result = [&](bool rounds) {
    const PooledConvolution layer(s, filter.data(), planar(1, kSide, kSide), &bias, rounds);
    float out = 0;
    std::uint8_t argmax = 0;
    layer.forward({image.data(), planar(1, 6, 6), 1}, &out, &argmax);
    EXPECT_EQ(argmax, 0);
    return out;
  };
  EXPECT_EQ(result(false), bias + fine * fine);
  EXPECT_EQ(result(true), float_of_bfloat16(bfloat16_of_float(1 + bias)));
}

// What it rounds itself gives what rounded numbers give; without the images' gradient, as of a
// first layer, the filters' is the same.
TEST(PooledConvolution, RoundsForGradientsToo) {
  const PooledConvolutionSizes s = pooled_sizes(3, 10, 12, 4, 1);
  CounterRandom random{9, 9};
  const auto fine = [&random](std::size_t size) {
    std::vector<float> result(size);
    for (float& each : result) each = static_cast<float>(random.uniform()) - 0.5F;
    return result;
  };
  const auto rounded = [](std::vector<float> values) {
    for (float& each : values) each = float_of_bfloat16(bfloat16_of_float(each));
    return values;
  };
  const std::vector<float> images = fine(kImages * 360), filters = fine(4 * 75);
  const std::vector<float> gradients = fine(kImages * 4 * s.out_pixels());
  std::vector<std::uint8_t> argmax(gradients.size());
  const auto run = [&](const std::vector<float>& from, const std::vector<float>& weights,
                       bool rounds, bool has_image_gradients) {
    const PooledConvolution layer(s, weights.data(), planar(3, kSide, kSide), nullptr, rounds);
    std::vector<float> out(gradients.size()), sums(layer.sums_size()), both(300 + from.size());
    const StridedImages all{from.data(), planar(3, 10, 12), kImages};
    if (rounds) layer.forward(all, out.data(), argmax.data());
    layer.backward(all, gradients.data(), argmax.data(), sums.data(),
                   has_image_gradients ? &both[300] : nullptr);
    layer.read_sums(sums.data(), both.data(), planar(3, kSide, kSide), nullptr);
    return both;
  };
  const std::vector<float> found = run(images, filters, true, true);
  EXPECT_EQ(found, run(rounded(images), rounded(filters), false, true));
  const std::vector<float> of_filters = run(images, filters, true, false);
  EXPECT_TRUE(std::equal(of_filters.begin(), of_filters.begin() + 300, found.begin()));
  EXPECT_TRUE(
      std::all_of(of_filters.begin() + 300, of_filters.end(), [](float x) { return x == 0; }));
}

TEST(PooledConvolution, PassesOnWhatIsNotANumber) {
  const PooledConvolutionSizes s = pooled_sizes(1, 6, 6, 1, 0);
  std::vector<float> image(36);
  image[7] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> filter(25, 1.0F);
  for (const bool rounds : {false, true}) {
    const PooledConvolution layer(s, filter.data(), planar(1, kSide, kSide), nullptr, rounds);
    float out = 0;
    std::uint8_t argmax = 0;
    layer.forward({image.data(), planar(1, 6, 6), 1}, &out, &argmax);
    EXPECT_TRUE(std::isnan(out));
    EXPECT_NE(argmax, PooledConvolution::kNone);
  }
}

TEST(PooledConvolution, TakesTheFirstOfEqualsAndNothingBelowZero) {
  const PooledConvolutionSizes s = pooled_sizes(1, 6, 6, 1, 0);
  const std::vector<float> image(36, 1.0F);
  for (const float value : {1.0F, -1.0F, 0.0F}) {
    const std::vector<float> filter(25, value);
    const PooledConvolution layer(s, filter.data(), planar(1, kSide, kSide), nullptr, false);
    float out = 7;
    std::uint8_t argmax = 7;
    layer.forward({image.data(), planar(1, 6, 6), 1}, &out, &argmax);
    EXPECT_EQ(out, value > 0 ? 25 : 0);
    EXPECT_EQ(argmax, value > 0 ? 0 : PooledConvolution::kNone);
  }
}

// Each processor uses one of them.
TEST(PooledConvolutionLoops, NarrowAndWideVectorsGiveTheSame) {
  constexpr std::size_t kChannels = 3, kLine = 64, kResults = 4 * kFiltersAtOnce;
  const std::vector<float> pixels = numbers(kChannels * 8 * kLine, 1);
  const std::vector<float> lines = numbers(kChannels * kSide * kFiltersAtOnce * kSide, 2);
  SplitPlanes planes{pixels.data(), kLine / 2, 8 * kLine, kLine};
  const FilterPair filters{lines.data(), kChannels};
  std::vector<float> wide(kResults * kWideLanes), narrow(wide.size());
  convolve_wide(planes, filters, kWideLanes, wide.data());
  convolve_narrow(planes, filters, kWideLanes, narrow.data());
  planes.even += kNarrowLanes;
  convolve_narrow(planes, filters, kWideLanes, &narrow[kNarrowLanes]);
  EXPECT_EQ(narrow, wide);

  std::vector<std::uint32_t> places = {0, 5, 17, 40, 3};
  std::vector<float> gradients = numbers(kWideLanes, 3);
  std::fill(gradients.begin() + 5, gradients.end(), 0.0F);
  const PatchGradients patches{places.data(), gradients.data(), places.size()};
  std::vector<float> wide_sums = numbers((kSide * 2 + 1) * kWideLanes, 4), narrow_sums = wide_sums;
  add_filter_gradient_wide(pixels.data(), kLine, patches, 2 * kWideLanes, wide_sums.data());
  add_filter_gradient_narrow(pixels.data(), kLine, patches, 2 * kWideLanes, narrow_sums.data());
  EXPECT_EQ(narrow_sums, wide_sums);
}

}  // namespace
}  // namespace tandem::kernels
