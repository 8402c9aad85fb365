#include "tandem/data/png_encoder.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

// The plain lines of a PNG file that has one IDAT chunk.
std::string lines_of(const std::string& file, std::size_t size) {
  constexpr std::size_t kData = 8 + 25 + 8;  // signature, IHDR, length and type
  std::string lines(size + 1, '\0');
  uLongf length = lines.size();
  const int code =
      ::uncompress(reinterpret_cast<Bytef*>(lines.data()), &length,
                   reinterpret_cast<const Bytef*>(file.data()) + kData, file.size() - kData);
  EXPECT_EQ(code, Z_OK);
  lines.resize(length);
  return lines;
}

TEST(Png, LinesHoldTheChannelsOfEachPixelTogether) {
  const std::vector<std::uint8_t> pixels{1,  2,  3,  4,  5,  6,  11, 12, 13,
                                         14, 15, 16, 21, 22, 23, 24, 25, 26};
  const std::string file = encode_png({3, 2, 3}, pixels);
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1A\n");
  EXPECT_EQ(file.substr(8, 8), std::string("\0\0\0\x0DIHDR", 8));
  EXPECT_EQ(file.substr(16, 13), std::string("\0\0\0\3\0\0\0\2\x08\2\0\0\0", 13));
  EXPECT_EQ(lines_of(file, 2 * 10),
            std::string("\0\1\13\25\2\14\26\3\15\27\0\4\16\30\5\17\31\6\20\32", 20));
}

// The file that other software writes for one black pixel, up to the packed data.
TEST(Png, ChecksumsAreThoseOfTheStandard) {
  const std::string file = encode_png({1, 1, 1}, std::vector<std::uint8_t>{0});
  EXPECT_EQ(file.substr(29, 4), "\x3A\x7E\x9B\x55") << "of the header";
  EXPECT_EQ(file.substr(file.size() - 12), std::string("\0\0\0\0IEND\xAE\x42\x60\x82", 12));
}

TEST(Png, OtherShapesAreRefused) {
  EXPECT_FALSE(has_png_form({2, 1, 1}));
  EXPECT_THROW(encode_png({2, 1, 1}, std::vector<std::uint8_t>{0, 0}), InternalError);
  EXPECT_THROW(encode_png({1, 2, 2}, std::vector<std::uint8_t>{0}), InternalError);
}

}  // namespace
}  // namespace tandem::data
