#include "data/pictures/exif.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

std::string big(std::size_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

std::string little(std::size_t value, int bytes) {
  const std::string text = big(value, bytes);
  return {text.rbegin(), text.rend()};
}

std::string segment(char marker, const std::string& content) {
  return std::string("\xFF") + marker + big(content.size() + 2, 2) + content;
}

// Two tags, of which the second is the orientation.
std::string exif(std::size_t orientation, bool is_big = true, std::size_t type = 3) {
  const auto put = is_big ? big : little;
  return std::string("Exif\0\0", 6) + (is_big ? "MM" : "II") + put(42, 2) + put(8, 4) + put(2, 2) +
         put(0x010F, 2) + put(2, 2) + put(3, 4) + put(0, 4) + put(0x0112, 2) + put(type, 2) +
         put(1, 4) + put(orientation, 2) + put(0, 2);
}

std::string jpeg(const std::string& segments) { return "\xFF\xD8" + segments + "\xFF\xDA"; }

TEST(Exif, OrientationIsFoundInBothByteOrders) {
  for (int i = 1; i <= 8; ++i) {
    for (const bool is_big : {false, true}) {
      const std::string content = exif(static_cast<std::size_t>(i), is_big);
      EXPECT_EQ(exif_orientation(jpeg(segment('\xE1', content))), i);
      EXPECT_EQ(exif_orientation(jpeg(segment('\xE0', "JFIF") + "\xFF" +  // and a filling byte
                                      segment('\xE1', "http://ns.adobe.com/xap/1.0/") +
                                      segment('\xE1', content))),
                i);
    }
  }
}

TEST(Exif, OnlyTheFirstBeforeThePictureCounts) {
  const std::string six = segment('\xE1', exif(6));
  EXPECT_EQ(exif_orientation(jpeg(six + segment('\xE1', exif(3)))), 6);
  EXPECT_EQ(exif_orientation(jpeg("\xFF\xDA" + six)), 1);
  EXPECT_EQ(exif_orientation(jpeg("\xFF\xD9" + six)), 1);
  EXPECT_EQ(exif_orientation(jpeg("x" + six)), 1);
}

TEST(Exif, WhatIsMalformedIsUpright) {
  for (const std::size_t value : {0, 9, 0x600}) {
    EXPECT_EQ(exif_orientation(jpeg(segment('\xE1', exif(value)))), 1) << value;
  }
  EXPECT_EQ(exif_orientation(jpeg(segment('\xE1', exif(6, true, 2)))), 1) << "text";
  const std::string whole = jpeg(segment('\xE1', exif(6)));
  EXPECT_EQ(exif_orientation(whole), 6);
  for (std::size_t size = 0; size < 2 + 4 + exif(6).size(); ++size) {
    EXPECT_EQ(exif_orientation(whole.substr(0, size)), 1) << size;
  }
  // Lists that point out of the segment, and one that claims more tags than it has.
  std::string far = exif(6);
  far.replace(6 + 4, 4, "\xFF\xFF\xFF\xF0");
  EXPECT_EQ(exif_orientation(jpeg(segment('\xE1', far))), 1);
  std::string many = exif(6);
  many.replace(6 + 8, 2, "\xFF\xFF");
  many.replace(many.size() - 12, 2, "\x01\x13");
  EXPECT_EQ(exif_orientation(jpeg(segment('\xE1', many))), 1);
}

// 2 x 3 pixels of two values, numbered row by row. The results are those of Pillow's
// ImageOps.exif_transpose, a letter for a pixel.
TEST(Exif, PicturesAreTurnedAsPillowDoes) {
  const std::string expected[] = {"abcdef", "cbafed", "fedcba", "defabc",
                                  "adbecf", "daebfc", "fcebda", "cfbead"};
  for (int i = 1; i <= 8; ++i) {
    Picture picture{2, 2, 3, std::vector<std::uint8_t>(12), i};
    std::iota(picture.values.begin(), picture.values.end(), std::uint8_t{0});
    const Picture turned = upright(picture);
    EXPECT_EQ(turned.orientation, 1);
    EXPECT_EQ(turned.height, i < 5 ? 2 : 3);
    EXPECT_EQ(turned.width, i < 5 ? 3 : 2);
    std::string letters;
    for (std::size_t k = 0; k < 12; k += 2) {
      letters += static_cast<char>('a' + turned.values[k] / 2);
      EXPECT_EQ(turned.values[k + 1], turned.values[k] + 1);
    }
    EXPECT_EQ(letters, expected[i - 1]) << i;
    const PictureExtent extent = upright(PictureExtent{2, 3, true, i});
    EXPECT_EQ(extent.height, turned.height);
    EXPECT_EQ(extent.width, turned.width);
  }
}

TEST(Exif, ModelsOfPublishedSetsExpectUprightPictures) {
  DatasetInfo info;
  info.name = "pets";
  EXPECT_FALSE(has_upright_images(info)) << "may be a set of an earlier version";
  info.exif_orientation = true;
  EXPECT_TRUE(has_upright_images(info));
  info.exif_orientation = false;
  info.name = "cifar10";
  EXPECT_TRUE(has_upright_images(info));
}

}  // namespace
}  // namespace tandem::data
