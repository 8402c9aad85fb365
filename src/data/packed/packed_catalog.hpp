// The structure of a packed file as plain values. A child process that runs HDF5 sends it to the
// parent, which never does. Untrusted until require_sound() has accepted it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

enum class Filter : std::uint8_t { kFletcher32 = 1, kDeflate = 2, kShuffle = 3 };
constexpr std::size_t kChecksumBytes = 4;  // at the end of a chunk with kFletcher32

struct StoredChunk {
  std::uint64_t offset = 0;   // in the file
  std::uint64_t bytes = 0;    // as stored
  std::uint32_t skipped = 0;  // bit i: filter i was not applied
};

struct StoredArray {
  std::vector<std::uint64_t> extent;  // [N, C, H, W] or [N]
  std::vector<std::uint64_t> chunk;   // extent of one chunk
  std::vector<Filter> filters;        // in the order of writing
  std::vector<StoredChunk> chunks;    // in row-major order of the grid
};

struct StoredSplit {
  StoredArray images;
  StoredArray labels;
};

// `count` values of `size` bytes each, one after another in the file.
struct StoredRange {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::uint64_t size = 0;

  std::uint64_t bytes() const { return count * size; }
};

// In version 2: pixels, or picture files with the offset of each and the total.
struct Version2Split {
  StoredRange values;   // [N * C * H * W], or [total], of 1
  StoredRange offsets;  // [N + 1] of 8; of pixels: [0]
  StoredRange labels;   // [N] of 2; of multi-label sets [N] of as many bytes as there are classes

  bool is_encoded() const { return offsets.count > 0; }
};

struct PackedCatalog {
  std::string name;
  std::vector<std::string> classes;
  std::vector<double> mean;
  std::vector<double> std;
  std::string source_sha256;
  std::array<StoredSplit, 2> splits;  // train, test
  std::uint64_t broken_files = 0;
  std::uint64_t exif_orientation = 0;  // 1: applied
  // Version 2 has the rest in place of `classes` and `splits`.
  std::uint64_t version = 1;
  std::vector<std::uint64_t> shape = {};  // channels, height, width
  StoredRange class_names = {};           // [K] of as many bytes as the longest has
  std::uint64_t multi_label = 0;          // 1: an image has any number of classes
  std::array<Version2Split, 2> version2 = {};
  // As in DatasetInfo; of a file that is a set of its own 0 and empty.
  std::uint64_t part = 0;
  std::uint64_t parts = 0;
  std::string set_id = {};
};

constexpr std::array<const char*, 2> kGroups = {"/train", "/test"};

// Number of chunks of an array of this extent; 0 if it is not defined, or more than a file of
// `file_bytes` can hold.
std::uint64_t count_chunks(const StoredArray& array, std::uint64_t file_bytes);
// The longest output of encode() for a file of this size.
std::uint64_t max_encoded_bytes(std::uint64_t file_bytes);

std::string encode(const PackedCatalog& catalog);
// Throws DataError unless `bytes` could be the output of encode().
PackedCatalog decode_catalog(std::string_view bytes, const std::string& path);

// The subject of a message: a file, and an object in it such as "/train/images".
struct PackedObject {
  const std::string& path;
  std::string name;

  DataError fault(const std::string& text) const {
    return DataError(path + ": " + name + " " + text);
  }
};

// Checks that extent, chunk shape and filters of an array are within the limits of the format, but
// no single chunk. Throws DataError.
void require_layout(const StoredArray& array, std::size_t rank, const PackedObject& object);
// Checks that all values are within the limits of the format, every chunk lies in the file, none
// shares bytes with another one, and each has a size that its content can have. Throws DataError.
void require_sound(const PackedCatalog& catalog, std::uint64_t file_bytes, const std::string& path);
// The name of the array of labels in a group of version 2.
const char* name_of_labels(const PackedCatalog& catalog);
// The part of it for version 2, after the attributes.
void require_sound_version2(const PackedCatalog& catalog, std::uint64_t file_bytes,
                            const std::string& path);
// Requires require_sound(). Sets all fields but `digest` and `sealed`, and in version 2 not
// `classes`.
DatasetInfo info_of(const PackedCatalog& catalog);

// Parses the file in a child process, whose crash, hang or flood of memory is a DataError here.
// Its reply must pass require_sound(). Forks: the child calls neither MPI nor CUDA.
// `touch` is called once a second meanwhile.
PackedCatalog describe_packed_in_child(const File& file, const Touch& touch);

}  // namespace tandem::data
