#include <gtest/gtest.h>

#include <vector>

#include "data/pictures/picture_decoder.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

TEST(Png, DecoderGivesThePixelsBack) {
  const std::vector<std::uint8_t> planes{1,  2,  3,  4,  5,  6,  11, 12, 13,
                                         14, 15, 16, 21, 22, 23, 24, 25, 26};
  const Picture colored = open_png(encode_png({3, 2, 3}, planes), "a file")->decode();
  EXPECT_EQ(colored.channels, 3);
  EXPECT_EQ(colored.height, 2);
  EXPECT_EQ(colored.width, 3);
  EXPECT_EQ(colored.values, (std::vector<std::uint8_t>{1, 11, 21, 2, 12, 22, 3, 13, 23, 4, 14, 24,
                                                       5, 15, 25, 6, 16, 26}));
  const Picture grey =
      open_png(encode_png({1, 1, 2}, std::vector<std::uint8_t>{0, 200}), "a file")->decode();
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(grey.values, (std::vector<std::uint8_t>{0, 200}));
}

TEST(Png, OtherShapesAreRefused) {
  EXPECT_FALSE(has_png_form({2, 1, 1}));
  EXPECT_THROW(encode_png({2, 1, 1}, std::vector<std::uint8_t>{0, 0}), InternalError);
  EXPECT_THROW(encode_png({1, 2, 2}, std::vector<std::uint8_t>{0}), InternalError);
}

}  // namespace
}  // namespace tandem::data
