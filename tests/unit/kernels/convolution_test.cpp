#include "tandem/kernels/convolution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "convolution_cases.hpp"
#include "tandem/core/random.hpp"
#include "tandem/kernels/bfloat16.hpp"

namespace tandem::kernels {
namespace {

using Bits = std::vector<std::uint16_t>;

// Of few bits: sums of their products are exact in fp32, whatever the order.
Bits quarters(std::size_t size, std::uint64_t seed) {
  CounterRandom random{seed, 1};
  Bits bits(size);
  for (std::uint16_t& each : bits) {
    each = bfloat16_of_float(static_cast<float>(std::floor(random.uniform() * 17)) / 4 - 2);
  }
  return bits;
}

class TileConvolution : public ::testing::TestWithParam<std::tuple<ConvolutionCase, bool>> {
 protected:
  Convolution convolution(const ForEach& for_each = in_turn) const {
    return Convolution(sizes_, std::get<1>(GetParam()), for_each);
  }
  float product(const Bits& one, std::size_t i, const Bits& other, std::size_t k) const {
    return float_of_bfloat16(one[i]) * float_of_bfloat16(other[k]);
  }
  // Not yet rounded.
  std::vector<float> filters() const {
    std::vector<float> filters;
    for (const std::uint16_t each : filters_) filters.push_back(float_of_bfloat16(each) * 1.001F);
    return filters;
  }
  static Bits rounded(const std::vector<float>& sums) {
    Bits bits;
    for (float sum : sums) bits.push_back(bfloat16_of_float(sum));
    return bits;
  }

  const ConvolutionSizes sizes_ = std::get<0>(GetParam()).sizes;
  const std::size_t out_size_ =
      sizes_.images * sizes_.out_height() * sizes_.out_width() * sizes_.filters;
  const Bits images_ = quarters(sizes_.images * sizes_.height * sizes_.width * sizes_.channels, 1);
  const Bits filters_ = quarters(sizes_.filters * sizes_.side * sizes_.side * sizes_.channels, 2);
  const Bits gradient_ = quarters(out_size_, 3);
};

TEST_P(TileConvolution, ForwardIsTheDefinition) {
  std::vector<float> sums(out_size_), bias;
  for_each_product(sizes_, [&](std::size_t image, std::size_t filter, std::size_t result) {
    sums[result] += product(images_, image, filters_, filter);
  });
  Bits out(out_size_, 0x7FC0);
  convolution().forward(images_.data(), filters().data(), nullptr, out.data());
  EXPECT_EQ(out, rounded(sums));

  for (std::size_t f = 0; f < sizes_.filters; ++f) bias.push_back(static_cast<float>(f) / 4);
  for (std::size_t i = 0; i < out_size_; ++i) sums[i] += bias[i % sizes_.filters];
  convolution().forward(images_.data(), filters().data(), bias.data(), out.data());
  EXPECT_EQ(out, rounded(sums));
}

TEST_P(TileConvolution, ImageGradientIsTheDefinition) {
  std::vector<float> sums(images_.size());
  for_each_product(sizes_, [&](std::size_t image, std::size_t filter, std::size_t result) {
    sums[image] += product(gradient_, result, filters_, filter);
  });
  Bits out(images_.size(), 0x7FC0);
  convolution().image_gradient(gradient_.data(), filters().data(), out.data());
  EXPECT_EQ(out, rounded(sums));
}

TEST_P(TileConvolution, FilterGradientIsTheDefinition) {
  std::vector<float> sums(filters_.size());
  for_each_product(sizes_, [&](std::size_t image, std::size_t filter, std::size_t result) {
    sums[filter] += product(images_, image, gradient_, result);
  });
  std::vector<float> out(filters_.size(), std::nanf(""));
  convolution().filter_gradient(images_.data(), gradient_.data(), out.data());
  EXPECT_EQ(out, sums);

  convolution().filter_gradient(images_.data(), gradient_.data(), out.data(), /*adds=*/true);
  for (float& sum : sums) sum *= 2;
  EXPECT_EQ(out, sums);
}

// Of numbers whose sums round.
TEST_P(TileConvolution, WhoDoesWhichPartDoesNotMatter) {
  CounterRandom random{5, 1};
  Bits images(images_.size()), gradient(gradient_.size());
  for (std::uint16_t& each : images) each = bfloat16_of_float(static_cast<float>(random.uniform()));
  for (std::uint16_t& each : gradient) {
    each = bfloat16_of_float(static_cast<float>(random.uniform()));
  }
  std::vector<float> one(filters_.size()), other(filters_.size());
  convolution().filter_gradient(images.data(), gradient.data(), one.data());
  convolution(backwards).filter_gradient(images.data(), gradient.data(), other.data());
  EXPECT_EQ(one, other);
}

// Partial tiles of everything, more than one of everything; images of several panels: of 20 rows,
// and of more than 32 images each.
const ConvolutionCase kTileCases[] = {
    {"ThreeByThree", sizes_of(35, 24, 5, 4, 40, 3, 1, 1)},
    {"Strided", sizes_of(33, 40, 6, 7, 33, 3, 2, 1)},
    {"OneByOneStrided", sizes_of(32, 16, 5, 5, 32, 1, 2, 0)},
    {"NoPadding", sizes_of(3, 5, 4, 6, 2, 2, 1, 0)},
    {"FoldedLines", sizes_of(33, 6, 9, 8, 16, 5, 1, 0)},
    {"AFilterAsLargeAsItsImage", sizes_of(2, 3, 3, 3, 4, 3, 1, 0)},
    {"MorePaddingThanImage", sizes_of(2, 3, 1, 1, 4, 3, 1, 1)},
    {"RowsOfSeveralPanels", sizes_of(33, 3, 24, 32, 2, 3, 1, 1)},
    {"ImagesOfSeveralPanels", sizes_of(97, 2, 13, 13, 3, 3, 1, 1)},
};

// With what this processor has.
std::vector<bool> with_amx() { return has_amx() ? std::vector{false, true} : std::vector{false}; }

INSTANTIATE_TEST_SUITE_P(Sizes, TileConvolution,
                         ::testing::Combine(::testing::ValuesIn(kTileCases),
                                            ::testing::ValuesIn(with_amx())),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param).name) +
                                  (std::get<1>(of.param) ? "Amx" : "Portable");
                         });

}  // namespace
}  // namespace tandem::kernels
