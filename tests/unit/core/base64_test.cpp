#include <gtest/gtest.h>

#include "tandem/core/digest.hpp"

namespace tandem {
namespace {

// RFC 4648, section 10.
TEST(Base64, HoldsTheExamplesOfItsStandard) {
  const std::pair<const char*, const char*> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, GivesEveryByteBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (std::size_t length = 250; length <= bytes.size(); ++length) {
    EXPECT_EQ(from_base64(to_base64(bytes.substr(0, length))), bytes.substr(0, length));
  }
}

TEST(Base64, TakesNothingElse) {
  for (const char* text : {"Zg", "Zg=", "Zh==", "====", "Zg==Zg==", "Z g=", "Zm9v\n", "Zm-v",
                           "=m9v", "Zm9=v", "<b>="}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

}  // namespace
}  // namespace tandem
