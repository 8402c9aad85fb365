#include <gtest/gtest.h>

#include "events.hpp"

namespace tandem::metrics {
namespace {

// Bytes of protobuf.dev/programming-guides/encoding.
TEST(ProtoMessage, EncodesAsTheStandardsExamples) {
  EXPECT_EQ(ProtoMessage().integer(1, 150).encoded(), "\x08\x96\x01");
  EXPECT_EQ(ProtoMessage().bytes(2, "testing").encoded(), "\x12\x07testing");
  ProtoMessage inner;
  inner.integer(1, 150);
  EXPECT_EQ(ProtoMessage().message(3, inner).encoded(), "\x1A\x03\x08\x96\x01");
}

TEST(ProtoMessage, NumbersAreLittleEndian) {
  EXPECT_EQ(ProtoMessage().real(1, 1).encoded(), std::string("\x09\0\0\0\0\0\0\xF0\x3F", 9));
  EXPECT_EQ(ProtoMessage().single(2, 1).encoded(), std::string("\x15\0\0\x80\x3F", 5));
  EXPECT_EQ(ProtoMessage().reals(6, {1, 0}).encoded(),
            std::string("\x32\x10\0\0\0\0\0\0\xF0\x3F\0\0\0\0\0\0\0\0", 18));
}

TEST(ProtoMessage, LargeFieldsAndNumbersTakeMoreBytes) {
  EXPECT_EQ(ProtoMessage().integer(16, 0).encoded(), std::string("\x80\x01\0", 3));
  EXPECT_EQ(ProtoMessage().integer(1, ~std::uint64_t{0}).encoded(),
            "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
  EXPECT_EQ(ProtoMessage().bytes(1, std::string(300, 'x')).encoded().substr(0, 3), "\x0A\xAC\x02");
}

TEST(ProtoMessage, TextsAreMadeUtf8) {
  EXPECT_EQ(as_utf8("\xC3\xA4 \"plain\"\n"), "\xC3\xA4 \"plain\"\n");
  EXPECT_EQ(as_utf8("a\xFF"), "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace tandem::metrics
