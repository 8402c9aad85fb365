#include "data/packed/user_block.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/pack.hpp"
#include "tandem/data/packed_file.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;
using testing::write_bytes;

class UserBlockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PackRequest request;
    request.input = "synthetic";
    request.output = path_;
    request.images = 10;
    pack(request);
    bytes_ = read_bytes(path_);
  }

  void expect_damaged(const std::string& bytes, const std::string& what) {
    write_bytes(path_, bytes);
    EXPECT_THROW(PackedFile file(path_), DataError) << what;
  }
  // The file holds bytes_ before and after.
  void expect_flip_damages(std::size_t bit) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    const auto put = [&](int byte) {
      file.seekp(static_cast<std::streamoff>(bit / 8)).put(static_cast<char>(byte)).flush();
    };
    put(bytes_[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THROW(PackedFile mutant(path_), DataError) << "bit " << bit;
    put(bytes_[bit / 8]);
  }

  TempDir folder_;
  std::string path_ = folder_ / "set.h5";
  std::string bytes_;
};

TEST_F(UserBlockTest, LayoutIsAsDocumented) {
  const std::string block = bytes_.substr(0, 512);
  EXPECT_EQ(block.substr(0, 16), "tandem-dataset\r\n");
  EXPECT_EQ(block.substr(16, 8), std::string("\1\0\0\0\0\2\0\0", 8));
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(block[24 + i]);
  EXPECT_EQ(length, bytes_.size() - 512);
  EXPECT_EQ(block.substr(32, 64), sha256_hex(std::string_view(bytes_).substr(512)));
  EXPECT_EQ(block.substr(96, 412), std::string(412, '\0'));
  std::uint32_t crc = 0;
  for (int i = 3; i >= 0; --i) crc = crc << 8 | static_cast<unsigned char>(block[508 + i]);
  EXPECT_EQ(crc, crc32(block.data(), 508));
  EXPECT_EQ(bytes_.substr(512, 8), "\x89HDF\r\n\x1a\n");
}

TEST_F(UserBlockTest, EveryBitOfTheBlockMatters) {
  for (std::size_t bit = 0; bit < 512 * 8; ++bit) expect_flip_damages(bit);
}

TEST_F(UserBlockTest, EveryBitOfTheRestMatters) {
  for (std::size_t bit = 512 * 8; bit < (512 + 96) * 8; ++bit) expect_flip_damages(bit);
  CounterRandom random{1};
  const std::size_t rest = (bytes_.size() - 512) * 8;
  for (int i = 0; i < 1000; ++i) expect_flip_damages(512 * 8 + random.next() % rest);
  expect_flip_damages(bytes_.size() * 8 - 1);
  EXPECT_NO_THROW(PackedFile file(path_));
}

TEST_F(UserBlockTest, EveryTruncationAndExtensionIsRefused) {
  for (std::size_t size = 0; size < 1100; ++size) {
    expect_damaged(bytes_.substr(0, size), "size " + std::to_string(size));
  }
  expect_damaged(bytes_.substr(0, bytes_.size() - 1), "one byte less");
  expect_damaged(bytes_ + '\0', "one byte more");
  expect_error(ExitCode::kBadData,
               {std::to_string(bytes_.size() + 1) + " bytes", std::to_string(bytes_.size())},
               [&] { PackedFile file(path_); });
}

// A block whose numbers all agree, but that is not exactly what tandem writes.
TEST_F(UserBlockTest, OtherBlocksBeforeHdf5AreRefused) {
  expect_damaged(std::string(512, '\0') + bytes_.substr(512), "an empty block");
  expect_damaged(bytes_.substr(0, 512) + bytes_, "two blocks");
  std::string padded = bytes_;
  padded[200] = 1;
  const std::uint32_t crc = crc32(padded.data(), 508);
  for (int i = 0; i < 4; ++i) padded[508 + i] = static_cast<char>(crc >> (8 * i));
  expect_damaged(padded, "padding that is not zero");
}

TEST_F(UserBlockTest, ForeignFilesAreNamed) {
  const auto expect_described = [&](const std::string& bytes, const std::string& part) {
    write_bytes(path_, bytes);
    expect_error(ExitCode::kBadData, {"set.h5", part, "tandem pack"},
                 [&] { PackedFile file(path_); });
  };
  expect_described("", "an empty file");
  expect_described("<!DOCTYPE html>", "web page");
  expect_described(testing::gzip("x"), "gzip data");
  expect_error(ExitCode::kMissingInput, {"absent.h5"},
               [&] { PackedFile file(folder_ / "absent.h5"); });
  expect_error(ExitCode::kBadData, {"folder"}, [&] { PackedFile file(folder_.path()); });
}

TEST_F(UserBlockTest, UnsealedFileIsToldByItsFirstBytes) {
  write_bytes(path_, bytes_.substr(512));
  const FileProof proof = prove_file(File::open_for_reading(path_));
  EXPECT_FALSE(proof.sealed);
  EXPECT_EQ(proof.sha256, sha256_hex(std::string_view(bytes_).substr(512)));
}

}  // namespace
}  // namespace tandem::data
