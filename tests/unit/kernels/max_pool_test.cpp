#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tandem/core/random.hpp"
#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/elementwise.hpp"

namespace tandem::kernels {
namespace {

constexpr std::uint16_t kUntouched = 0x1234;

// Channels that fill a vector of 32 and some more; few values, so that many are equal.
struct Image {
  Image(std::size_t image_height, std::size_t image_width)
      : height(image_height),
        width(image_width),
        bits(height * width * kChannels),
        out(height / 2 * (width / 2) * kChannels),
        argmax(out.size()) {
    CounterRandom random{5, 1};
    for (std::uint16_t& each : bits) {
      each = bfloat16_of_float(static_cast<float>(std::floor(random.uniform() * 6)) - 3);
    }
  }
  void pool() { max_pool(bits.data(), height, width, kChannels, out.data(), argmax.data()); }
  // Of the pooled pixel: where its `place`th candidate of a channel lies.
  std::size_t at(std::size_t row, std::size_t column, std::size_t place, std::size_t c) const {
    return ((2 * row + place / 2) * width + 2 * column + place % 2) * kChannels + c;
  }
  template <class Task>
  void for_each_result(const Task& task) const {
    std::size_t result = 0;
    for (std::size_t row = 0; row < height / 2; ++row) {
      for (std::size_t column = 0; column < width / 2; ++column) {
        for (std::size_t c = 0; c < kChannels; ++c) task(result++, row, column, c);
      }
    }
  }

  static constexpr std::size_t kChannels = 37;
  const std::size_t height, width;
  std::vector<std::uint16_t> bits, out;
  std::vector<std::uint8_t> argmax;
};

TEST(MaxPoolKernels, TakesTheFirstOfTheLargest) {
  Image image(5, 7);
  image.pool();
  image.for_each_result(
      [&](std::size_t result, std::size_t row, std::size_t column, std::size_t c) {
        std::size_t best = 0;
        for (std::size_t place = 1; place < 4; ++place) {
          if (float_of_bfloat16(image.bits[image.at(row, column, place, c)]) >
              float_of_bfloat16(image.bits[image.at(row, column, best, c)])) {
            best = place;
          }
        }
        EXPECT_EQ(image.argmax[result], best);
        EXPECT_EQ(image.out[result], image.bits[image.at(row, column, best, c)]);
      });
}

TEST(MaxPoolKernels, PassesOnWhatIsNotANumber) {
  const std::uint16_t nan = bfloat16_of_float(std::nanf(""));
  for (const std::uint16_t sign : {0, 0x8000}) {
    for (std::size_t place = 0; place < 4; ++place) {
      Image image(2, 2);
      image.bits[image.at(0, 0, place, 3)] = static_cast<std::uint16_t>(nan | sign);
      image.pool();
      EXPECT_TRUE(std::isnan(float_of_bfloat16(image.out[3]))) << place;
      EXPECT_EQ(image.argmax[3], place);
      EXPECT_FALSE(std::isnan(float_of_bfloat16(image.out[2])));
    }
  }
}

TEST(MaxPoolKernels, GradientGoesToTheChosenAndIsZeroElsewhere) {
  for (const auto& [height, width] : {std::pair{4, 6}, std::pair{5, 7}, std::pair{5, 4}}) {
    Image image(static_cast<std::size_t>(height), static_cast<std::size_t>(width));
    image.pool();
    std::vector<std::uint16_t> gradient(image.out.size());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = static_cast<std::uint16_t>(0x3F80 + i % 50);
    }
    std::vector<std::uint16_t> expected(image.bits.size(), 0), found(expected.size(), kUntouched);
    image.for_each_result(
        [&](std::size_t result, std::size_t row, std::size_t column, std::size_t c) {
          expected[image.at(row, column, image.argmax[result], c)] = gradient[result];
        });
    max_pool_gradient(gradient.data(), image.argmax.data(), image.height, image.width,
                      Image::kChannels, found.data());
    EXPECT_EQ(found, expected) << height << "x" << width;
  }
}

}  // namespace
}  // namespace tandem::kernels
