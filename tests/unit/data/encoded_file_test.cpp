// Packed sets of picture files: what they hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "data/pixel_sources/image_source.hpp"
#include "encoded_fixture.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/data/fit_picture.hpp"
#include "tandem/data/image_file.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/data/verify.hpp"

namespace tandem::data {
namespace {

using testing::all_of;
using testing::AllOf;
using testing::number_at;
using testing::read_bytes;
using testing::TempDir;
using testing::write_pictures;

using EncodedFile = testing::EncodedSet;

TEST_F(EncodedFile, HoldsTheFilesAsTheyAre) {
  const AllOf all = all_of(path_);
  EXPECT_EQ(all.info.train_count, 27U);
  EXPECT_EQ(all.info.test_count, 9U);
  EXPECT_EQ(all.info.classes, (std::vector<std::string>{"class000", "class001", "class002"}));
  EXPECT_EQ(all.info.shape, (ImageShape{3, 8, 8}));
  EXPECT_TRUE(all.info.sealed);
  std::map<std::string, std::string> class_of;  // by content, which differs from file to file
  for (const std::string& file : files_below(folder_ / "pets")) {
    class_of[read_bytes(file)] = file.substr((folder_ / "pets/").size(), 8);
  }
  for (std::size_t split = 0; split < 2; ++split) {
    for (std::size_t i = 0; i < all.places[split].size(); ++i) {
      const std::string file = all.file(split, i);
      ASSERT_EQ(class_of.count(file), 1U);
      EXPECT_EQ(class_of[file], all.info.classes[all.labels[split][i]]);
      class_of.erase(file);
      std::vector<std::uint8_t> expected(all.info.shape.pixels());
      MemoryBudget budget(kMemoryForPictures);
      fit_file(file, "", all.info.shape, budget, {}, expected.data());
      EXPECT_EQ(all.pixels(split, i), expected);
    }
  }
  EXPECT_TRUE(class_of.empty()) << "every picture is in the file once";
}

TEST_F(EncodedFile, OrderFollowsFromTheSeedAlone) {
  pack(request());
  EXPECT_EQ(read_bytes(path_), bytes_);
  PackRequest other = request();
  other.threads = 7;
  pack(other);
  EXPECT_EQ(read_bytes(path_), bytes_);
  const AllOf first = all_of(path_);
  EXPECT_FALSE(std::is_sorted(first.labels[0].begin(), first.labels[0].end()));
  other.keep_order = true;
  const DatasetInfo kept = pack(other);
  const AllOf sorted = all_of(path_);
  EXPECT_TRUE(std::is_sorted(sorted.labels[0].begin(), sorted.labels[0].end()));
  EXPECT_EQ(kept.source_sha256, first.info.source_sha256);
  EXPECT_NE(kept.digest, first.info.digest);
  PackRequest pixels = request();
  pixels.store = Store::kPixels;
  EXPECT_EQ(pack(pixels).source_sha256, kept.source_sha256);
}

TEST_F(EncodedFile, TableCoversEveryByteOnce) {
  EXPECT_EQ(number_at(bytes_, 16, 4), 2U);
  EXPECT_EQ(number_at(bytes_, 24, 8), bytes_.size() - 512);
  const std::size_t table_at = bytes_.size() - number_at(bytes_, 96, 8);
  const std::string table = bytes_.substr(table_at);
  EXPECT_EQ(bytes_.substr(32, 64), sha256_hex(table));
  EXPECT_EQ(PackedFile(path_).info().digest, sha256_hex(table));
  EXPECT_EQ(table.substr(0, 16), "tandem-table-1\r\n");
  const std::uint64_t count = number_at(table, 16, 8);
  ASSERT_EQ(table.size(), 24 + count * 88);
  std::uint64_t next = 512;
  std::uint64_t picture_bytes = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t at = 24 + i * 88;
    EXPECT_EQ(number_at(table, at, 8), next);
    const std::uint64_t size = number_at(table, at + 8, 8);
    EXPECT_EQ(table.substr(at + 24, 64), sha256_hex(std::string_view(bytes_).substr(next, size)));
    if (number_at(table, at + 16, 8) == 1) picture_bytes += size;
    next += size;
  }
  EXPECT_EQ(next, table_at);
  const DatasetInfo info = PackedFile(path_).info();
  EXPECT_EQ(picture_bytes, info.train_bytes + info.test_bytes) << "and nothing else";
}

TEST(EncodedClasses, NeedNotFitAByte) {
  const TempDir folder;
  write_pictures(folder / "many", 300, 2);
  PackRequest request;
  request.input = folder / "many";
  request.output = folder / "set.h5";
  request.test_split = 0.5;
  request.height = request.width = 4;
  std::vector<std::vector<std::uint8_t>> pixels;
  for (const Store store : {Store::kEncoded, Store::kPixels}) {
    request.store = store;
    request.keep_order = true;
    pack(request);
    const PackedFile file(request.output);
    EXPECT_EQ(file.info().is_encoded(), store == Store::kEncoded);
    EXPECT_EQ(file.info().classes.size(), 300U);
    EXPECT_EQ(file.info().classes[299], "class299");
    std::vector<Label> expected(300);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(file.labels(Split::kTest), expected);
    std::vector<std::uint8_t> images(300 * file.info().shape.pixels());
    std::vector<Label> labels(300);
    file.read(Split::kTest, 0, images, labels);
    EXPECT_EQ(labels, expected);
    pixels.push_back(images);
    EXPECT_EQ(verify_dataset(request.output).train_per_class, std::vector<std::uint64_t>(300, 1));
  }
  EXPECT_EQ(pixels[0], pixels[1]);
}

}  // namespace
}  // namespace tandem::data
