#include <gtest/gtest.h>

#include <vector>

#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/elementwise.hpp"

namespace tandem::kernels {
namespace {

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
