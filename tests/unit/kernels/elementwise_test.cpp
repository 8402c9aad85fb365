#include "tandem/kernels/elementwise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tandem/kernels/bfloat16.hpp"

namespace tandem::kernels {
namespace {

TEST(Relu, LeavesWhatIsAboveZeroAndWhatIsNoNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> in = {1, -1, 0, -0.0F, 0x1p-133F, -0x1p-133F, kInfinity, -kInfinity};
  in.resize(70, -2);  // more than a vector
  std::vector<std::uint16_t> bits;
  for (const float each : in) bits.push_back(bfloat16_of_float(each));
  bits.push_back(0x7FC0);
  bits.push_back(0xFFC1);
  relu(bits.data(), bits.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(bits[i], in[i] > 0 ? bfloat16_of_float(in[i]) : 0) << in[i];
  }
  EXPECT_EQ(bits[70], 0x7FC0);
  EXPECT_EQ(bits[71], 0xFFC1);
}

TEST(Relu, PassesAGradientWhereTheResultIsNotZero) {
  std::vector<std::uint16_t> values(67), gradient(67), out(67, 9);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 3 == 0 ? 0 : 0x3F80;
    gradient[i] = static_cast<std::uint16_t>(i + 1);
  }
  values[1] = 0x7FC0;
  relu_gradient(values.data(), gradient.data(), out.data(), out.size());
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i % 3 == 0 ? 0 : i + 1);
}

TEST(Relu, RowsAreAdded) {
  std::vector<std::uint16_t> values;
  for (int i = 0; i < 3 * 37; ++i) values.push_back(bfloat16_of_float(static_cast<float>(i)));
  std::vector<float> sums(37, 1);
  add_rows(values.data(), 3, 37, sums.data());
  for (std::size_t i = 0; i < 37; ++i)
    EXPECT_EQ(sums[i], 1 + 3.0F * static_cast<float>(i) + 3 * 37);
}

TEST(Planes, BecomePixelsAndPlanesAgain) {
  constexpr std::size_t kChannels = 3, kPixels = 41;
  std::vector<float> planes(kChannels * kPixels), again(planes.size());
  for (std::size_t i = 0; i < planes.size(); ++i) planes[i] = static_cast<float>(i) - 40;
  planes[5] = 1 + 1.0F / 512;  // rounded to 1
  std::vector<std::uint16_t> bits(planes.size());
  pixels_of_planes(planes.data(), kChannels, kPixels, bits.data());
  planes[5] = 1;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    EXPECT_EQ(float_of_bfloat16(bits[i]), planes[i % kChannels * kPixels + i / kChannels]);
  }
  planes_of_pixels(bits.data(), kChannels, kPixels, again.data());
  EXPECT_EQ(again, planes);
}

}  // namespace
}  // namespace tandem::kernels
