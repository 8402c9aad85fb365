#include "tandem/core/digest.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace tandem {
namespace {

// FIPS 180-2, appendix B.
TEST(Sha256, KnownVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheDigestOfTheWhole) {
  Sha256 digest;
  digest.update("a", 1);
  digest.update("", 0);
  digest.update("bc", 2);
  EXPECT_EQ(digest.finish(), sha256_hex("abc"));
}

TEST(Crc32, CheckValueOfTheStandard) {
  EXPECT_EQ(crc32("123456789", 9), 0xCBF43926U);
  EXPECT_EQ(crc32("", 0), 0U);
}

TEST(Hash64, DependsOnEveryByteLengthAndSeed) {
  std::string text;  // more than two rounds of all lanes, some words and some bytes
  for (char letter = '0'; text.size() < 83; ++letter) text += letter;
  std::set<std::uint64_t> hashes{hash64(text.data(), text.size()),
                                 hash64(text.data(), text.size(), 1)};
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] ^= 1;
    hashes.insert(hash64(changed.data(), changed.size()));
    hashes.insert(hash64(text.data(), i));
  }
  EXPECT_EQ(hashes.size(), 2 + 2 * text.size());
  EXPECT_EQ(hash64(text.data(), text.size()), 0x43095FC1A5F3D084U) << "files hold this value";
}

TEST(Hash64, TellsZeroBytesApart) {
  const std::string zeros(83, '\0');
  std::set<std::uint64_t> hashes;
  for (std::size_t length = 0; length <= zeros.size(); ++length) {
    hashes.insert(hash64(zeros.data(), length));
  }
  EXPECT_EQ(hashes.size(), zeros.size() + 1);
}

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

TEST(ImageIdHash, SumIsThatOfAllIds) {
  std::uint64_t sum = 0;
  for (std::uint64_t id = 0; id < 1000; ++id) sum += image_id_hash(id);
  EXPECT_EQ(image_id_hash_of_all(1000), sum);
  EXPECT_EQ(image_id_hash_of_all(0), 0U);
}

// One image twice and another missing leaves the count right; the hash must still tell.
TEST(ImageIdHash, TellsADuplicateFromTheWhole) {
  const std::uint64_t all = image_id_hash_of_all(100);
  for (std::uint64_t missing = 0; missing < 100; ++missing) {
    const std::uint64_t twice = (missing + 1) % 100;
    EXPECT_NE(all - image_id_hash(missing) + image_id_hash(twice), all);
  }
}

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
