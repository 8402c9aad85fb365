#include "data/packed/chunk_reader.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "data/packed/hdf5_descriptor.hpp"
#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;
using testing::write_bytes;

std::vector<std::uint8_t> noise(std::size_t bytes) {
  std::vector<std::uint8_t> values(bytes);
  std::uint32_t state = 12345;
  for (std::uint8_t& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<std::uint8_t>(state >> 24);
  }
  return values;
}

// HDF5's H5_checksum_fletcher32(), a direct implementation of its documentation.
std::uint32_t plain_fletcher32(const std::vector<std::uint8_t>& data) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  for (std::size_t i = 0; i < data.size(); i += 2) {
    first += data[i] * 256U + (i + 1 < data.size() ? data[i + 1] : 0U);
    if (first > 65535) first -= 65535;
    second += first;
    if (second > 65535) second -= 65535;
  }
  return static_cast<std::uint32_t>(second << 16 | first);
}

TEST(Fletcher32, IsTheSumOfItsDefinition) {
  EXPECT_EQ(fletcher32(nullptr, 0), 0U);
  for (const std::size_t bytes : {1, 2, 3, 4, 511, 512, 513, 514, 1024, 1535, 70'001}) {
    const std::vector<std::uint8_t> data = noise(bytes);
    EXPECT_EQ(fletcher32(data.data(), bytes), plain_fletcher32(data)) << bytes;
    for (const int value : {0, 1, 255}) {  // 0 and 65535 are the same remainder
      const std::vector<std::uint8_t> same(bytes, static_cast<std::uint8_t>(value));
      EXPECT_EQ(fletcher32(same.data(), bytes), plain_fletcher32(same)) << bytes << " " << value;
    }
  }
}

struct Layout {
  std::vector<hsize_t> extent;
  std::vector<hsize_t> chunk;
  bool deflate = false;
  bool checksum_first = false;
  bool latest = false;  // other chunk indexes than version 1 B-trees
};

class ChunkReaderTest : public ::testing::Test {
 protected:
  // A file with one dataset, written by HDF5, and the offsets and sizes of its chunks.
  StoredArray write(const Layout& layout, const std::vector<std::uint8_t>& values) {
    const auto rank = static_cast<int>(layout.extent.size());
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (layout.latest) H5Pset_libver_bounds(access.id(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(creation.id(), rank, layout.chunk.data());
    if (layout.checksum_first) H5Pset_fletcher32(creation.id());
    if (layout.deflate) {
      H5Pset_shuffle(creation.id());
      H5Pset_deflate(creation.id(), 1);
    }
    if (!layout.checksum_first) H5Pset_fletcher32(creation.id());
    {
      const Hdf5Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()),
                            H5Fclose);
      const Hdf5Handle space(H5Screate_simple(rank, layout.extent.data(), nullptr), H5Sclose);
      const Hdf5Handle dataset(H5Dcreate2(file.id(), "x", H5T_STD_U8LE, space.id(), H5P_DEFAULT,
                                          creation.id(), H5P_DEFAULT),
                               H5Dclose);
      EXPECT_GE(
          H5Dwrite(dataset.id(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
          0);
    }
    return describe(layout);
  }

  StoredArray describe(const Layout& layout) const {
    StoredArray array;
    array.extent.assign(layout.extent.begin(), layout.extent.end());
    array.chunk.assign(layout.chunk.begin(), layout.chunk.end());
    if (layout.checksum_first) array.filters.push_back(Filter::kFletcher32);
    if (layout.deflate)
      array.filters.insert(array.filters.end(), {Filter::kShuffle, Filter::kDeflate});
    if (!layout.checksum_first) array.filters.push_back(Filter::kFletcher32);
    const File file = File::open_for_reading(path_);
    std::exception_ptr fault;
    const Hdf5Handle hdf5 = open_hdf5(file, fault);
    const Hdf5Handle dataset(H5Dopen2(hdf5.id(), "x", H5P_DEFAULT), H5Dclose);
    std::vector<hsize_t> origin(layout.extent.size(), 0);
    do {
      array.chunks.emplace_back();
      EXPECT_TRUE(find_chunk(dataset.id(), origin, array.chunks.back()));
      for (std::size_t axis = origin.size(); axis-- > 0;) {
        if ((origin[axis] += layout.chunk[axis]) < layout.extent[axis]) break;
        origin[axis] = 0;
      }
    } while (std::any_of(origin.begin(), origin.end(), [](hsize_t at) { return at > 0; }));
    return array;
  }

  TempDir folder_;
  std::string path_ = folder_ / "x.h5";
};

TEST_F(ChunkReaderTest, ReadsWhatHdf5WroteInAnyLayout) {
  const std::vector<Layout> layouts{
      {{300}, {100}},
      {{301}, {100}},
      {{40, 3, 5, 7}, {8, 3, 5, 7}},
      {{41, 3, 5, 7}, {8, 2, 4, 3}},  // chunks beyond every edge
      {{41, 3, 5, 7}, {8, 3, 5, 7}, true},
      {{41, 3, 5, 7}, {8, 2, 4, 3}, true, true},
      {{41, 3, 5, 7}, {8, 3, 5, 7}, false, false, true},
      {{41, 3, 5, 7}, {41, 3, 5, 7}, true, false, true},
      {{41, 3, 5, 7}, {8, 2, 4, 3}, false, true, true},
  };
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    SCOPED_TRACE(i);
    const Layout& layout = layouts[i];
    std::size_t item = 1;
    for (std::size_t axis = 1; axis < layout.extent.size(); ++axis) item *= layout.extent[axis];
    const std::uint64_t count = layout.extent[0];
    std::vector<std::uint8_t> values = noise(count * item);
    if (i % 2 == 0) std::fill(values.begin(), values.begin() + values.size() / 2, 7);  // compresses
    ChunkReader reader(write(layout, values), "x");
    const File file = File::open_for_reading(path_);
    for (const auto& [first, last] : {std::pair<std::uint64_t, std::uint64_t>{0, count},
                                      {3, 4},
                                      {7, 9},
                                      {9, 33},
                                      {count - 1, count}}) {
      int chunks = 0;
      std::vector<std::uint8_t> found((last - first) * item);
      reader.read(file, first, last - first, found.data(), [&] { ++chunks; });
      EXPECT_GT(chunks, 0);
      EXPECT_EQ(found, std::vector<std::uint8_t>(values.begin() + first * item,
                                                 values.begin() + last * item));
    }
  }
}

TEST_F(ChunkReaderTest, EveryChangedByteOfAChunkIsFound) {
  for (const bool deflate : {false, true}) {
    const Layout layout{{6, 1, 3, 3}, {6, 1, 3, 3}, deflate};
    const StoredArray array = write(layout, std::vector<std::uint8_t>(54, 3));
    const std::string whole = read_bytes(path_);
    for (std::uint64_t i = 0; i < array.chunks[0].bytes; ++i) {
      std::string damaged = whole;
      damaged[array.chunks[0].offset + i] ^= 64;
      write_bytes(path_, damaged);
      std::vector<std::uint8_t> values(54);
      expect_error(ExitCode::kBadData, {"x.h5", "chunk 0", "checksum"}, [&] {
        ChunkReader(array, "x").read(File::open_for_reading(path_), 0, 6, values.data(), {});
      });
    }
  }
}

// Sizes that require_sound() would refuse: no byte out of bounds is accessed (AddressSanitizer).
TEST_F(ChunkReaderTest, WrongSizesAreRefusedWhereTheyAreMet) {
  const Layout layout{{6, 1, 3, 3}, {6, 1, 3, 3}};
  const StoredArray array = write(layout, noise(54));
  for (const std::uint64_t bytes : {0, 1, 3, 4, 57, 59, 1'000'000}) {
    StoredArray wrong = array;
    wrong.chunks[0].bytes = bytes;
    std::vector<std::uint8_t> values(54);
    expect_error(ExitCode::kBadData, {"x.h5", "chunk 0"}, [&] {
      ChunkReader(wrong, "x").read(File::open_for_reading(path_), 0, 6, values.data(), {});
    });
  }
}

}  // namespace
}  // namespace tandem::data
