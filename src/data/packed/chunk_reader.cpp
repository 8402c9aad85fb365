#include "chunk_reader.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "data/files/byte_stream.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

// The weighted sum of this many 16-bit words fits into 32 bits.
constexpr std::size_t kBlockWords = 256;
constexpr std::uint64_t kModulus = 65535;

// The remainder as HDF5 folds it: kModulus in place of 0, unless all words are 0.
std::uint64_t reduce(std::uint64_t sum) {
  const std::uint64_t rest = sum % kModulus;
  return rest == 0 && sum != 0 ? kModulus : rest;
}

std::uint32_t swap_bytes(std::uint64_t word) {
  return static_cast<std::uint32_t>((word & 0xFF) << 8 | word >> 8);
}

struct Sums {
  std::uint64_t plain = 0;     // of the words
  std::uint64_t weighted = 0;  // of `plain` after each word

  // One loop without a dependency between words, so that the compiler can vectorize it.
  void add(const std::uint8_t* data, std::size_t words) {
    std::uint32_t block_plain = 0;
    std::uint32_t block_weighted = 0;
    for (std::size_t i = 0; i < words; ++i) {
      std::uint16_t word;
      std::memcpy(&word, data + 2 * i, sizeof word);
      block_plain += word;
      block_weighted += static_cast<std::uint32_t>(words - i) * word;
    }
    weighted = reduce(weighted + words * plain + block_weighted);
    plain = reduce(plain + block_plain);
  }
};

constexpr std::size_t kRank = 4;
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
using Extent = std::array<std::uint64_t, kRank>;

}  // namespace

// Adds the words as this little-endian machine reads them. Modulo 65535 a byte swap is a
// multiplication by 256, so swapping both sums at the end equals swapping each word.
std::uint32_t fletcher32(const std::uint8_t* data, std::size_t bytes) {
  Sums sums;
  std::size_t words = bytes / 2;
  for (; words >= kBlockWords; words -= kBlockWords, data += 2 * kBlockWords) {
    sums.add(data, kBlockWords);
  }
  sums.add(data, words);
  if (bytes % 2 != 0) {
    const std::uint8_t last[2] = {data[2 * words], 0};
    sums.add(last, 1);
  }
  return swap_bytes(sums.weighted) << 16 | swap_bytes(sums.plain);
}

// The requested part of a chunk, in array coordinates: [begin, end) along each dimension.
struct ChunkReader::Range {
  Extent origin;  // of the chunk
  Extent begin;
  Extent end;

  // Copies it from the chunk to its place in `values`, which begins with item `first`.
  void copy(const Extent& chunk, const Extent& array, std::uint64_t first, const std::uint8_t* from,
            std::uint8_t* values) const {
    const bool whole_items = std::equal(chunk.begin() + 1, chunk.end(), array.begin() + 1);
    const std::uint64_t item = array[1] * array[2] * array[3];
    if (whole_items) {
      std::memcpy(values + (begin[0] - first) * item, from + (begin[0] - origin[0]) * item,
                  (end[0] - begin[0]) * item);
      return;
    }
    for (std::uint64_t n = begin[0]; n < end[0]; ++n) {
      for (std::uint64_t c = begin[1]; c < end[1]; ++c) {
        for (std::uint64_t h = begin[2]; h < end[2]; ++h) {
          const std::uint64_t source =
              (((n - origin[0]) * chunk[1] + c - origin[1]) * chunk[2] + h - origin[2]) * chunk[3];
          const std::uint64_t target =
              (n - first) * item + (c * array[2] + h) * array[3] + begin[3];
          std::memcpy(values + target, from + source, end[3] - begin[3]);
        }
      }
    }
  }
};

ChunkReader::ChunkReader(StoredArray array, std::string object)
    : array_(std::move(array)), object_(std::move(object)), decoded_(kNone) {
  array_.extent.resize(kRank, 1);  // treats labels as images of one value
  array_.chunk.resize(kRank, 1);
  for (const std::uint64_t along : array_.chunk) chunk_bytes_ *= along;
}

void ChunkReader::read(const File& file, std::uint64_t first, std::uint64_t count,
                       std::uint8_t* values, const Touch& touch) {
  Extent chunk{};
  Extent extent{};
  std::copy(array_.chunk.begin(), array_.chunk.end(), chunk.begin());
  std::copy(array_.extent.begin(), array_.extent.end(), extent.begin());
  Extent grid;
  for (std::size_t i = 0; i < kRank; ++i) grid[i] = (extent[i] - 1) / chunk[i] + 1;
  const std::uint64_t in_row = grid[1] * grid[2] * grid[3];
  const std::uint64_t last_row = (first + count - 1) / chunk[0];
  for (std::uint64_t index = first / chunk[0] * in_row; index < (last_row + 1) * in_row; ++index) {
    Range range;
    std::uint64_t rest = index;
    for (std::size_t i = kRank; i-- > 0; rest /= grid[i]) {
      range.origin[i] = rest % grid[i] * chunk[i];
      range.begin[i] = range.origin[i];
      range.end[i] = std::min(extent[i], range.origin[i] + chunk[i]);
    }
    range.begin[0] = std::max(range.begin[0], first);
    range.end[0] = std::min(range.end[0], first + count);
    range.copy(chunk, extent, first, decoded(file, index).data(), values);
    call(touch);
  }
}

// Keeps the last chunk, because two blocks of a reading caller may share it.
const std::vector<std::uint8_t>& ChunkReader::decoded(const File& file, std::size_t index) {
  if (decoded_ == index) return values_;
  decoded_ = kNone;
  const StoredChunk& chunk = array_.chunks[index];
  values_.resize(chunk.bytes);
  if (file.read_at(chunk.offset, values_.data(), values_.size()) != values_.size()) {
    fail(file, index, "the file ends within it");
  }
  undo_filters(file, index);
  if (values_.size() != chunk_bytes_) {
    fail(file, index,
         "it holds " + std::to_string(values_.size()) + " bytes, " + std::to_string(chunk_bytes_) +
             " are expected");
  }
  decoded_ = index;
  return values_;
}

// The shuffle filter does not change values of one byte.
void ChunkReader::undo_filters(const File& file, std::size_t index) {
  for (std::size_t i = array_.filters.size(); i-- > 0;) {
    if ((array_.chunks[index].skipped >> i & 1) != 0) continue;
    if (array_.filters[i] == Filter::kFletcher32) prove_checksum(file, index);
    if (array_.filters[i] == Filter::kDeflate) inflate_values(file, index);
  }
}

void ChunkReader::prove_checksum(const File& file, std::size_t index) {
  if (values_.size() < kChecksumBytes) fail(file, index, "it has no room for a checksum");
  const std::size_t bytes = values_.size() - kChecksumBytes;
  const std::uint64_t stated = little_endian(
      {reinterpret_cast<const char*>(values_.data()) + bytes, kChecksumBytes}, 0, kChecksumBytes);
  const std::uint32_t found = fletcher32(values_.data(), bytes);
  if (found != stated) {
    fail(
        file, index,
        "its checksum is " + std::to_string(found) + ", the file states " + std::to_string(stated));
  }
  values_.resize(bytes);
}

void ChunkReader::inflate_values(const File& file, std::size_t index) {
  scratch_.resize(chunk_bytes_ + kChecksumBytes);  // fletcher32 may have come before deflate
  uLongf inflated = scratch_.size();
  const int code = ::uncompress(scratch_.data(), &inflated, values_.data(), values_.size());
  if (code == Z_MEM_ERROR) throw InternalError("zlib has no memory");
  if (code != Z_OK) fail(file, index, "it is not a whole zlib stream of its size");
  scratch_.resize(inflated);
  values_.swap(scratch_);
}

void ChunkReader::fail(const File& file, std::size_t index, const std::string& fault) const {
  throw DataError(file.path() + ": " + object_ + ": chunk " + std::to_string(index) +
                  " at offset " + std::to_string(array_.chunks[index].offset) +
                  " is damaged: " + fault + "; pack or copy the file again");
}

}  // namespace tandem::data
