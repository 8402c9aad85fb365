// What a packed file says of itself, as plain values: what a child process that ran HDF5 sends to a
// process that never does. Nothing in it is believed before require_sound() has accepted it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

enum class Filter : std::uint8_t { kFletcher32 = 1, kDeflate = 2, kShuffle = 3 };

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

struct PackedCatalog {
  std::string name;
  std::vector<std::string> classes;
  std::vector<double> mean;
  std::vector<double> std;
  std::string source_sha256;
  std::array<StoredSplit, 2> splits;  // train, test
};

constexpr std::array<const char*, 2> kGroups = {"/train", "/test"};

// Chunks that an array of this extent has: 0 where that is more than a file of `file_bytes` can
// hold, or no number at all.
std::uint64_t count_chunks(const StoredArray& array, std::uint64_t file_bytes);
// What a file of this size can make encode() write.
std::uint64_t max_encoded_bytes(std::uint64_t file_bytes);

std::string encode(const PackedCatalog& catalog);
// Throws DataError for anything that encode() does not write.
PackedCatalog decode_catalog(std::string_view bytes, const std::string& path);

// Whether extent, chunks and filters of an array are within the limits of the format; `name` is
// "/train/images". Looks at no chunk. Throws DataError.
void require_layout(const StoredArray& array, std::size_t rank, const std::string& path,
                    const std::string& name);
// Whether all values are within the limits of the format, every chunk lies in the file, none shares
// bytes with another one, and each has a size that its content can have. Throws DataError.
void require_sound(const PackedCatalog& catalog, std::uint64_t file_bytes, const std::string& path);
// Of a sound catalogue: all but `digest` and `sealed`.
DatasetInfo info_of(const PackedCatalog& catalog);

}  // namespace tandem::data
