#include "tandem/core/crc32c.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace tandem {
namespace {

// RFC 3720, appendix B.4, whose CRCs are printed byte by byte.
TEST(Crc32c, IsThatOfTheStandard) {
  std::vector<unsigned char> data(32, 0);
  EXPECT_EQ(crc32c(data.data(), data.size()), 0x8A9136AAU);
  data.assign(32, 0xFF);
  EXPECT_EQ(crc32c(data.data(), data.size()), 0x62A8AB43U);
  std::iota(data.begin(), data.end(), static_cast<unsigned char>(0));
  EXPECT_EQ(crc32c(data.data(), data.size()), 0x46DD794EU);
  std::vector<unsigned char> falling(data.rbegin(), data.rend());
  EXPECT_EQ(crc32c(falling.data(), falling.size()), 0x113FDB5CU);
  EXPECT_EQ(crc32c("123456789", 9), 0xE3069283U);
  EXPECT_EQ(crc32c("", 0), 0U);
}

TEST(Crc32c, IsTheSameWithoutTheInstruction) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(crc32c(text.data(), text.size()), detail::crc32c_by_table(text.data(), text.size()))
        << i;
    text += static_cast<char>(i * 37);
  }
}

}  // namespace
}  // namespace tandem
