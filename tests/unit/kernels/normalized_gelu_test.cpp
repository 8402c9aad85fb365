#include <gtest/gtest.h>

#include <vector>

#include "quarters.hpp"
#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/normalization.hpp"

namespace tandem::kernels {
namespace {

// More channels than are looked up at once, which fill no vector.
class NormalizedGeluKernels : public ::testing::Test {
 protected:
  static constexpr std::size_t kPixels = 6, kChannels = 275;

  NormalizedGeluKernels() {
    for (std::size_t c = 0; c < kChannels; ++c) {
      scale_[c] = c % 3 == 0 ? -2.0F : 0.5F;
      shift_[c] = static_cast<float>(c % 5) - 2;
      mean_[c] = static_cast<float>(c % 4) / 2;
      slope_[c] = c % 2 == 0 ? 0.25F : -0.5F;
      offset_[c] = static_cast<float>(c % 7) / 4;
      for (std::size_t p = 0; p < kPixels; ++p) {
        normalized_[p * kChannels + c] = bfloat16_of_float(scale_[c] * in(p, c) + shift_[c]);
      }
    }
  }
  float in(std::size_t pixel, std::size_t c) const {
    return float_of_bfloat16(in_[pixel * kChannels + c]);
  }
  Normalization normalization() const { return {scale_, shift_}; }

  const GeluTables tables_;
  const std::vector<std::uint16_t> in_ = quarters(kPixels * kChannels, 1);
  std::vector<std::uint16_t> normalized_ = std::vector<std::uint16_t>(in_.size());
  float scale_[kChannels], shift_[kChannels], mean_[kChannels], slope_[kChannels],
      offset_[kChannels];
};

TEST_F(NormalizedGeluKernels, ForwardIsGeluOfTheNormalized) {
  std::vector<std::uint16_t> expected(in_.size()), found(in_.size());
  gelu(tables_, normalized_.data(), expected.data(), expected.size());
  normalized_gelu(tables_, in_.data(), kPixels, kChannels, normalization(), found.data());
  EXPECT_EQ(found, expected);
}

TEST_F(NormalizedGeluKernels, GradientIsGelusAndItsSumsAreAdded) {
  const std::vector<std::uint16_t> gradient = quarters(in_.size(), 2);
  std::vector<std::uint16_t> expected(in_.size()), found(in_.size());
  gelu_gradient(tables_, normalized_.data(), gradient.data(), expected.data(), expected.size());
  std::vector<float> sum(kChannels, 10), product(kChannels, 20);  // what another image left
  normalized_gelu_gradient(tables_, {in_.data(), gradient.data()}, {kPixels, kChannels},
                           normalization(), found.data(), {mean_, sum.data(), product.data()});
  EXPECT_EQ(found, expected);
  for (std::size_t c = 0; c < kChannels; ++c) {
    double expected_sum = 10, expected_product = 20;
    for (std::size_t p = 0; p < kPixels; ++p) {
      const double passed = float_of_bfloat16(expected[p * kChannels + c]);
      expected_sum += passed;
      expected_product += passed * (in(p, c) - mean_[c]);
    }
    EXPECT_NEAR(sum[c], expected_sum, 1e-5 * 50);
    EXPECT_NEAR(product[c], expected_product, 1e-5 * 200);
  }
}

TEST_F(NormalizedGeluKernels, CorrectionIsLinear) {
  const std::vector<std::uint16_t> before = quarters(in_.size(), 3);
  std::vector<std::uint16_t> after = before;
  correct_gradient(in_.data(), kPixels, kChannels, scale_, {slope_, offset_}, after.data());
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::size_t c = i % kChannels;
    const float expected = scale_[c] * float_of_bfloat16(before[i]) +
                           slope_[c] * float_of_bfloat16(in_[i]) + offset_[c];
    EXPECT_EQ(after[i], bfloat16_of_float(expected)) << i;
  }
}

}  // namespace
}  // namespace tandem::kernels
