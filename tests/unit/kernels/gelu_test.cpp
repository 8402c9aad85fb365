#include "tandem/kernels/gelu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tandem/kernels/bfloat16.hpp"

namespace tandem::kernels {
namespace {

// Simpson's rule over the normal density: nothing of the tables' formula.
double normal_share_below(double x) {
  const double from = -12;
  if (x <= from) return 0;
  const int steps = 4000;
  const double width = (x - from) / steps;
  double sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double at = from + i * width;
    const double weight = i == 0 || i == steps ? 1 : (i % 2 == 1 ? 4 : 2);
    sum += weight * std::exp(-at * at / 2);
  }
  return sum * width / 3 / std::sqrt(2 * std::acos(-1.0));
}

class Gelu : public ::testing::Test {
 protected:
  float of(float x) const {
    const std::uint16_t in = bfloat16_of_float(x);
    std::uint16_t out = 0;
    gelu(tables_, &in, &out, 1);
    return float_of_bfloat16(out);
  }
  float gradient(float x, float gradient_of_output) const {
    const std::uint16_t in = bfloat16_of_float(x);
    const std::uint16_t above = bfloat16_of_float(gradient_of_output);
    std::uint16_t out = 0;
    gelu_gradient(tables_, &in, &above, &out, 1);
    return float_of_bfloat16(out);
  }
  const GeluTables tables_;
};

constexpr double kHalfUlp = 1.0 / 256;  // of a bfloat16 with its 8 bits

TEST_F(Gelu, IsRoundedOnce) {
  for (float x = -6; x <= 8; x += 0.03125F) {
    const double exact = x * normal_share_below(x);
    EXPECT_NEAR(of(x), exact, std::abs(exact) * kHalfUlp * 1.001 + 1e-12) << x;
  }
}

TEST_F(Gelu, HasItsSlope) {
  for (float x = -6; x <= 8; x += 0.03125F) {
    const double exact =
        normal_share_below(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
    EXPECT_NEAR(gradient(x, -3), -3 * exact, 3 * std::abs(exact) * kHalfUlp * 1.001 + 1e-9) << x;
  }
}

TEST_F(Gelu, KnowsTheEndsOfTheNumbers) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(of(infinity), infinity);
  EXPECT_EQ(of(-infinity), 0);
  EXPECT_EQ(of(0), 0);
  EXPECT_EQ(of(-300), 0);
  EXPECT_EQ(of(1e30F), float_of_bfloat16(bfloat16_of_float(1e30F)));
  EXPECT_TRUE(std::isnan(of(std::nanf(""))));
  EXPECT_EQ(gradient(infinity, 2), 2);
  EXPECT_EQ(gradient(-infinity, 2), 0);
  EXPECT_EQ(gradient(0, 2), 1);
  EXPECT_TRUE(std::isnan(gradient(std::nanf(""), 1)));
  EXPECT_TRUE(std::isnan(gradient(1, std::nanf(""))));
}

TEST(GeluAndSlope, AreNearTheFunctions) {
  std::vector<float> in;
  for (float x = -15; x <= 15; x += 0.00390625F) in.push_back(x);
  std::vector<float> out(in.size()), slope(in.size());
  gelu_and_slope(in.data(), in.size(), out.data(), slope.data());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double x = in[i];
    const double share = 0.5 * std::erfc(-x * std::sqrt(0.5));
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
    ASSERT_NEAR(out[i], x * share, 3e-7 * std::max(1.0, x)) << x;
    ASSERT_NEAR(slope[i], share + x * density, 3e-7) << x;
  }
}

TEST(GeluAndSlope, KnowTheEndsOfTheNumbers) {
  const float in[] = {0, -100, 100, 1e30F, -1e30F, std::nanf("")};
  float out[6], slope[6];
  gelu_and_slope(in, 6, out, slope);
  const float values[] = {0, 0, 100, 1e30F, 0}, slopes[] = {0.5, 0, 1, 1, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(out[i], values[i]) << in[i];
    EXPECT_NEAR(slope[i], slopes[i], 1e-7) << in[i];
  }
  EXPECT_TRUE(std::isnan(out[5]));
  EXPECT_TRUE(std::isnan(slope[5]));
}

TEST(Bfloat16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(bfloat16_of_float(1.0F), 0x3F80);
  EXPECT_EQ(bfloat16_of_float(0x1.01p0F), 0x3F80);    // halfway, down to even
  EXPECT_EQ(bfloat16_of_float(0x1.03p0F), 0x3F82);    // halfway, up to even
  EXPECT_EQ(bfloat16_of_float(0x1.0101p0F), 0x3F81);  // above halfway
  EXPECT_EQ(bfloat16_of_float(0x1.FFp127F), 0x7F80);  // over the largest
  EXPECT_EQ(bfloat16_of_float(-0.0F), 0x8000);
}

}  // namespace
}  // namespace tandem::kernels
