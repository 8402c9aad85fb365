// Packed files of version 2: no damage gives wrong pixels.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "data/packed/block_table.hpp"
#include "data/packed/user_block.hpp"
#include "encoded_fixture.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/data/verify.hpp"

namespace tandem::data {
namespace {

using testing::all_of;
using testing::AllOf;
using testing::expect_error;
using testing::number_at;
using testing::put_number;
using testing::read_bytes;
using testing::resealed;
using testing::TempDir;
using testing::write_bytes;
using testing::write_pictures;

class EncodedDamage : public testing::EncodedSet {
 protected:
  void expect_refused(const std::string& bytes, const std::vector<std::string>& parts) {
    write_bytes(path_, bytes);
    expect_error(ExitCode::kBadData, parts, [&] { all_of(path_); });
  }

  // Where an array of these values lies in the file.
  template <typename Value>
  std::size_t place_of(const std::vector<Value>& values) {
    const std::string_view wanted(reinterpret_cast<const char*>(values.data()),
                                  values.size() * sizeof(Value));
    const std::size_t found = bytes_.find(wanted);
    EXPECT_NE(found, std::string::npos);
    EXPECT_EQ(bytes_.find(wanted, found + 1), std::string::npos) << "one place is meant";
    return found;
  }
  std::size_t place_of_offsets() {
    std::vector<std::uint64_t> offsets{0};
    const AllOf all = all_of(path_);
    for (const PicturePlace& place : all.places[0]) offsets.push_back(place.end);
    return place_of(offsets);
  }
};

TEST_F(EncodedDamage, EveryFlippedBitIsFound) {
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  CounterRandom random{3};
  const auto expect_found = [&](std::size_t bit) {
    const auto put = [&](int byte) {
      file.seekp(static_cast<std::streamoff>(bit / 8)).put(static_cast<char>(byte)).flush();
    };
    put(bytes_[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THROW(all_of(path_), DataError) << "bit " << bit;
    EXPECT_THROW(verify_dataset(path_), DataError) << "bit " << bit;
    put(bytes_[bit / 8]);
  };
  for (int i = 0; i < 300; ++i) expect_found(random.next() % (bytes_.size() * 8));
  for (int i = 0; i < 100; ++i) expect_found(random.next() % (512 * 8));
  const std::size_t table = number_at(bytes_, 96, 8);
  for (int i = 0; i < 100; ++i)
    expect_found((bytes_.size() - table) * 8 + random.next() % (table * 8));
  EXPECT_NO_THROW(verify_dataset(path_));
}

// A changed file that is sealed again may have other content, but must do no worse harm.
TEST_F(EncodedDamage, ResealedDamageIsRefusedOrReadAsItSays) {
  const DatasetInfo info = PackedFile(path_).info();
  const std::size_t pictures = info.train_bytes + info.test_bytes;
  const std::size_t pictures_at = bytes_.find(all_of(path_).file(0, 0));
  const std::size_t end = bytes_.size() - number_at(bytes_, 96, 8);
  CounterRandom random{4};
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string changed = bytes_;
    // Half in the last part (offsets, labels, names, objects of HDF5), the rest in all others.
    const std::size_t tail = pictures_at + pictures;
    const std::size_t at = i % 2 == 0   ? tail + random.next() % (end - tail)
                           : i % 4 == 1 ? 512 + random.next() % 4096
                                        : pictures_at + random.next() % pictures;
    changed[at] =
        static_cast<char>(i % 3 == 0 ? random.next() : changed[at] ^ (1 << random.below(8)));
    write_bytes(path_, resealed(changed));
    try {
      const AllOf all = all_of(path_);
      for (std::size_t split = 0; split < 2; ++split) {
        for (const Label label : all.labels[split]) EXPECT_LT(label, all.info.classes.size());
      }
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST_F(EncodedDamage, CutAndLongerFilesAreRefused) {
  for (std::size_t size = 0; size < 600; size += 7) expect_refused(bytes_.substr(0, size), {});
  CounterRandom random{5};
  for (int i = 0; i < 50; ++i) expect_refused(bytes_.substr(0, random.next() % bytes_.size()), {});
  expect_refused(bytes_.substr(0, bytes_.size() - 1), {"has " + std::to_string(bytes_.size() - 1)});
  expect_refused(bytes_ + '\0', {"has " + std::to_string(bytes_.size() + 1)});
}

TEST_F(EncodedDamage, DamagedBlockIsNamedWhenItIsRead) {
  const std::size_t at = bytes_.find(all_of(path_).file(0, 3));
  bytes_[at] = static_cast<char>(bytes_[at] ^ 1);
  write_bytes(path_, bytes_);
  const PackedFile file(path_);  // reads no picture
  EXPECT_EQ(file.labels(Split::kTrain).size(), 27U);
  expect_error(ExitCode::kBadData,
               {"set.h5: block 1 (", "bytes at offset", "is damaged", "SHA-256"},
               [&] { all_of(path_); });
  expect_error(ExitCode::kBadData, {"set.h5: block 1"}, [&] { verify_dataset(path_); });
}

TEST_F(EncodedDamage, OffsetsThatDoNotTileAreRefused) {
  const std::size_t at = place_of_offsets();
  const auto with = [&](std::size_t index, std::uint64_t value) {
    std::string changed = bytes_;
    put_number(changed, at + 8 * index, value, 8);
    return resealed(changed);
  };
  const std::uint64_t second = number_at(bytes_, at + 16, 8);
  expect_refused(with(0, 1), {"/train/offsets[0] is 1, 0 is expected"});
  expect_refused(with(1, second), {"/train/offsets[2] is " + std::to_string(second)});
  expect_refused(with(1, second + 1), {"/train/offsets[2] is"});
  expect_refused(with(1, ~std::uint64_t{0}), {"/train/offsets[1] is 18446744073709551615"});
  expect_refused(with(27, number_at(bytes_, at + 8 * 27, 8) + 1),
                 {"/train/offsets[27]", "the length of /train/bytes"});
}

TEST_F(EncodedDamage, LabelsAndNamesAreChecked) {
  std::string changed = bytes_;
  put_number(changed, place_of(all_of(path_).labels[0]) + 2 * 5, 3, 2);
  expect_refused(resealed(changed), {"/train/labels[5] is 3, 0 to 2 are expected"});
  changed = bytes_;
  changed[bytes_.find("class001")] = '\n';
  expect_refused(resealed(changed), {"/classes", "class name 2"});
}

TEST_F(EncodedDamage, TablesThatDoNotCoverTheFileAreRefused) {
  const std::size_t table_at = bytes_.size() - number_at(bytes_, 96, 8);
  const auto with = [&](std::size_t at, std::uint64_t value) {
    std::string changed = bytes_;
    put_number(changed, table_at + at, value, 8);
    return testing::with_user_block(changed);
  };
  expect_refused(with(16, 2), {"table of digests states 2 blocks"});
  expect_refused(with(24, 513), {"a block (number 0)", "one at offset 512"});
  expect_refused(with(32, 0), {"a block (number 0) of 0 bytes"});
  expect_refused(with(32, number_at(bytes_, table_at + 32, 8) + 1), {"a block (number 1)"});
  expect_refused(with(40, 2), {"of kind 2"});
  // Pictures whose blocks are said to be something else, and the reverse.
  expect_refused(with(24 + 88 + 16, 0), {"/train/bytes", "does not lie in blocks of pictures"});
  std::string other_magic = bytes_;
  other_magic[table_at] = 'T';
  expect_refused(testing::with_user_block(other_magic), {"does not begin as one"});
}

TEST_F(EncodedDamage, VersionAndTableBelongTogether) {
  // HDF5's part alone: version 2 without a table.
  const std::string hdf5 = bytes_.substr(512, bytes_.size() - 512 - number_at(bytes_, 96, 8));
  expect_refused(hdf5, {"version 2 without a table"});
  expect_refused(encode_user_block({hdf5.size(), sha256_hex(hdf5), 1, 0}) + hdf5,
                 {"version 2 without a table"});
  PackRequest pixels = request();
  pixels.store = Store::kPixels;
  pack(pixels);
  const std::string old = read_bytes(path_).substr(512);
  const Block all{512, old.size(), BlockKind::kHead, sha256_hex(old)};
  const std::string table = encode_block_table({all});
  expect_refused(
      encode_user_block({old.size() + table.size(), sha256_hex(table), 2, table.size()}) + old +
          table,
      {"version 1 with a table"});
}

TEST(Version2Pixels, EveryFlippedBitIsFound) {
  const TempDir folder;
  const std::string path = folder / "set.h5";
  write_pictures(folder / "many", 257, 2);
  PackRequest request;
  request.input = folder / "many";
  request.output = path;
  request.test_split = 0.5;
  request.height = request.width = 4;
  pack(request);
  const std::string bytes = read_bytes(path);
  const AllOf whole = all_of(path);
  EXPECT_FALSE(whole.info.is_encoded());
  EXPECT_TRUE(whole.info.sealed);
  CounterRandom random{6};
  for (int i = 0; i < 100; ++i) {
    std::string changed = bytes;
    const std::size_t bit = random.next() % (bytes.size() * 8);
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(path, changed);
    EXPECT_THROW(all_of(path), DataError) << "bit " << bit;
  }
  pack(request);
  EXPECT_EQ(read_bytes(path), bytes);
}

}  // namespace
}  // namespace tandem::data
