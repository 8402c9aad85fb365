#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "quarters.hpp"
#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/normalization.hpp"

namespace tandem::kernels {
namespace {

// Lines and columns of odd number, channels that fill a vector of 16 and some more.
class NormalizedReluKernels : public ::testing::Test {
 protected:
  static constexpr std::size_t kHeight = 5, kWidth = 7, kChannels = 21;
  static constexpr std::size_t kPixels = kHeight * kWidth;
  static constexpr std::size_t kPooled = (kHeight / 2) * (kWidth / 2);

  NormalizedReluKernels() {
    for (std::size_t c = 0; c < kChannels; ++c) {
      scale_[c] = c % 3 == 0 ? -2.0F : 0.5F;
      shift_[c] = static_cast<float>(c % 5) - 2;
      mean_[c] = static_cast<float>(c % 4) / 2;
      slope_[c] = c % 2 == 0 ? 0.25F : -0.5F;
      offset_[c] = static_cast<float>(c % 7) / 4;
    }
  }
  float normalized(std::size_t pixel, std::size_t c) const {
    return scale_[c] * in(pixel, c) + shift_[c];
  }
  float in(std::size_t pixel, std::size_t c) const {
    return float_of_bfloat16(in_[pixel * kChannels + c]);
  }
  Normalization normalization() const { return {scale_, shift_}; }
  Correction correction() const { return {slope_, offset_}; }
  // Of the four that are pooled.
  static std::size_t pixel_of(std::size_t pooled, std::size_t place) {
    const std::size_t row = pooled / (kWidth / 2), column = pooled % (kWidth / 2);
    return (2 * row + place / 2) * kWidth + 2 * column + place % 2;
  }

  std::vector<std::uint16_t> in_ = quarters(kPixels * kChannels, 1);
  float scale_[kChannels], shift_[kChannels], mean_[kChannels], slope_[kChannels],
      offset_[kChannels];
};

TEST_F(NormalizedReluKernels, MomentsAreThoseOfEachChannel) {
  constexpr std::size_t kSome = 32;  // by which one divides exactly
  float mean[kChannels], squares[kChannels];
  channel_moments(in_.data(), kSome, kChannels, mean, squares);
  for (std::size_t c = 0; c < kChannels; ++c) {
    double sum = 0, expected = 0;
    for (std::size_t p = 0; p < kSome; ++p) sum += in(p, c);
    for (std::size_t p = 0; p < kSome; ++p) expected += std::pow(in(p, c) - sum / kSome, 2);
    EXPECT_EQ(mean[c], sum / kSome);
    EXPECT_NEAR(squares[c], expected, 1e-4);
  }
}

TEST_F(NormalizedReluKernels, ResultsAreNormalizedAndNotBelowZero) {
  std::vector<std::uint16_t> out(in_.size(), 1);
  normalized_relu(in_.data(), kPixels, kChannels, normalization(), out.data());
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(float_of_bfloat16(out[i]), std::max(0.0F, normalized(i / kChannels, i % kChannels)));
  }
}

TEST_F(NormalizedReluKernels, PoolsTheFirstOfTheLargest) {
  std::vector<std::uint16_t> out(kPooled * kChannels, 1);
  std::vector<std::uint8_t> argmax(out.size(), 9);
  pooled_normalized_relu(in_.data(), {kHeight, kWidth, kChannels}, normalization(), out.data(),
                         argmax.data());
  std::size_t none = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    float best = 0;
    std::size_t place = 4;
    for (std::size_t k = 0; k < 4; ++k) {
      const float value = normalized(pixel_of(i / kChannels, k), i % kChannels);
      if (value > best) {
        best = value;
        place = k;
      }
    }
    ASSERT_EQ(float_of_bfloat16(out[i]), best);
    ASSERT_EQ(argmax[i], place);
    none += place == 4;
  }
  EXPECT_GT(none, 0U);
  EXPECT_LT(none, out.size());
}

TEST_F(NormalizedReluKernels, WhatIsNoNumberIsPassedOn) {
  in_[0] = bfloat16_of_float(std::numeric_limits<float>::quiet_NaN());
  std::vector<std::uint16_t> out(in_.size());
  std::vector<std::uint8_t> argmax(in_.size());
  normalized_relu(in_.data(), kPixels, kChannels, normalization(), out.data());
  EXPECT_TRUE(std::isnan(float_of_bfloat16(out[0])));
  pooled_normalized_relu(in_.data(), {kHeight, kWidth, kChannels}, normalization(), out.data(),
                         argmax.data());
  EXPECT_TRUE(std::isnan(float_of_bfloat16(out[0])));
  EXPECT_EQ(argmax[0], 0);
}

TEST_F(NormalizedReluKernels, GradientsPassWhereTheResultIsAboveZero) {
  const std::vector<std::uint16_t> above = quarters(in_.size(), 2);
  float sum[kChannels] = {}, product[kChannels] = {};
  add_gradient_sums({in_.data(), above.data()}, kPixels, kChannels, normalization(),
                    {mean_, sum, product});
  std::vector<std::uint16_t> out(in_.size());
  normalized_gradient({in_.data(), above.data()}, kPixels, kChannels, normalization(), correction(),
                      out.data());
  float sums_expected[kChannels] = {}, products_expected[kChannels] = {};
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const std::size_t p = i / kChannels, c = i % kChannels;
    const float passed = normalized(p, c) > 0 ? float_of_bfloat16(above[i]) : 0;
    sums_expected[c] += passed;
    products_expected[c] += passed * (in(p, c) - mean_[c]);
    ASSERT_EQ(out[i], bfloat16_of_float(scale_[c] * passed + slope_[c] * in(p, c) + offset_[c]));
  }
  for (std::size_t c = 0; c < kChannels; ++c) {
    EXPECT_EQ(sum[c], sums_expected[c]);
    EXPECT_EQ(product[c], products_expected[c]);
  }
}

TEST_F(NormalizedReluKernels, SumsAreRoundedOnce) {
  const std::vector<std::uint16_t> residual = quarters(in_.size(), 4);
  std::vector<std::uint16_t> alone(in_.size()), sum(in_.size());
  kernels::normalized(in_.data(), {kPixels, kChannels}, normalization(), alone.data());
  normalized_relu_of_sum(in_.data(), residual.data(), {kPixels, kChannels}, normalization(),
                         sum.data());
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const float value = normalized(i / kChannels, i % kChannels);
    ASSERT_EQ(float_of_bfloat16(alone[i]), value);
    ASSERT_EQ(float_of_bfloat16(sum[i]), std::max(0.0F, value + float_of_bfloat16(residual[i])));
  }
}

TEST_F(NormalizedReluKernels, GradientsOfASumPassWhereItIsAboveZero) {
  const std::vector<std::uint16_t> above = quarters(in_.size(), 2),
                                   result = quarters(in_.size(), 5);
  const LayerGradient layer{in_.data(), above.data()};
  const PixelRows size{kPixels, kChannels};
  std::vector<std::uint16_t> passed(in_.size()), out(in_.size());
  float sum[kChannels] = {}, product[kChannels] = {}, all[kChannels] = {}, products[kChannels] = {};
  pass_relu_gradient(layer, result.data(), size, passed.data(), {mean_, sum, product});
  add_all_gradient_sums({in_.data(), passed.data()}, size, {mean_, all, products});
  corrected_gradient(layer, size, scale_, correction(), out.data());
  float sums_expected[kChannels] = {}, products_expected[kChannels] = {};
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const std::size_t p = i / kChannels, c = i % kChannels;
    const float gradient = float_of_bfloat16(above[i]);
    const float expected = float_of_bfloat16(result[i]) > 0 ? gradient : 0;
    ASSERT_EQ(float_of_bfloat16(passed[i]), expected);
    ASSERT_EQ(out[i], bfloat16_of_float(scale_[c] * gradient + slope_[c] * in(p, c) + offset_[c]));
    sums_expected[c] += expected;
    products_expected[c] += expected * (in(p, c) - mean_[c]);
  }
  for (std::size_t c = 0; c < kChannels; ++c) {
    EXPECT_EQ(sum[c], sums_expected[c]);
    EXPECT_EQ(product[c], products_expected[c]);
    EXPECT_EQ(all[c], sums_expected[c]);
    EXPECT_EQ(products[c], products_expected[c]);
  }
}

TEST_F(NormalizedReluKernels, PooledGradientsPassToWhatWasChosen) {
  const std::vector<std::uint16_t> above = quarters(kPooled * kChannels, 3);
  std::vector<std::uint8_t> argmax(above.size());
  for (std::size_t i = 0; i < argmax.size(); ++i) argmax[i] = static_cast<std::uint8_t>(i * 7 % 5);
  float sum[kChannels] = {}, product[kChannels] = {};
  add_pooled_gradient_sums({in_.data(), above.data(), argmax.data()}, {kHeight, kWidth, kChannels},
                           {mean_, sum, product});
  std::vector<std::uint16_t> out(in_.size());
  pooled_normalized_gradient({in_.data(), above.data(), argmax.data()},
                             {kHeight, kWidth, kChannels}, normalization(), correction(),
                             out.data());
  std::vector<float> passed(in_.size());
  float sums_expected[kChannels] = {}, products_expected[kChannels] = {};
  for (std::size_t i = 0; i < above.size(); ++i) {
    if (argmax[i] == 4) continue;
    const std::size_t p = pixel_of(i / kChannels, argmax[i]), c = i % kChannels;
    const float gradient = float_of_bfloat16(above[i]);
    passed[p * kChannels + c] = gradient;
    sums_expected[c] += gradient;
    products_expected[c] += gradient * (in(p, c) - mean_[c]);
  }
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const std::size_t c = i % kChannels;
    ASSERT_EQ(out[i], bfloat16_of_float(scale_[c] * passed[i] + slope_[c] * in(i / kChannels, c) +
                                        offset_[c]));
  }
  for (std::size_t c = 0; c < kChannels; ++c) {
    EXPECT_EQ(sum[c], sums_expected[c]);
    EXPECT_EQ(product[c], products_expected[c]);
  }
}

}  // namespace
}  // namespace tandem::kernels
