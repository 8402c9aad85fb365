// Reads ranges of a chunked array without HDF5: with pread, verifying every checksum.
// Throws DataError that names the object and what was found; IoError.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packed_catalog.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/touch.hpp"

namespace tandem::data {

// The checksum that HDF5's filter "fletcher32" appends to a chunk, bit for bit:
// H5_checksum_fletcher32() of HDF5's src/H5checksum.c. It is J. G. Fletcher's sum over 16-bit words
// in big-endian order ("An Arithmetic Checksum for Serial Transmissions", IEEE Transactions on
// Communications 30, 1982); a last odd byte is the high half of a word. HDF5 stores the result as a
// little-endian 32-bit integer.
std::uint32_t fletcher32(const std::uint8_t* data, std::size_t bytes);

class ChunkReader {
 public:
  // `array` is one that require_sound() accepted; `object` is its name, "/train/images".
  ChunkReader(StoredArray array, std::string object);

  // Reads items [first, first + count) into `values`; calls `touch` after every chunk.
  void read(const File& file, std::uint64_t first, std::uint64_t count, std::uint8_t* values,
            const Touch& touch);

 private:
  struct Range;
  const std::vector<std::uint8_t>& decoded(const File& file, std::size_t index);
  void undo_filters(const File& file, std::size_t index);
  void prove_checksum(const File& file, std::size_t index);
  void inflate_values(const File& file, std::size_t index);
  [[noreturn]] void fail(const File& file, std::size_t index, const std::string& fault) const;

  StoredArray array_;
  std::string object_;
  std::uint64_t chunk_bytes_ = 1;
  std::vector<std::uint8_t> values_;   // the chunk that was decoded last
  std::vector<std::uint8_t> scratch_;  // output of zlib
  std::size_t decoded_;                // index of the chunk in values_
};

}  // namespace tandem::data
