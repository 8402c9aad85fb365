// The digests of a packed file of version 2, block by block. They verify a part of a large file
// without reading the rest. Throws DataError for a table that does not cover the file, and for a
// damaged block, which it names; IoError.
//
// Layout, integers little-endian: 0 magic "tandem-table-1\r\n"; 16 number of blocks (u64); then for
// each block its offset in the file (u64), its bytes (u64), its kind (u64: 0 all but pictures, 1
// pictures) and its SHA-256 (64 hex digits). Blocks rise and tile the file from the user block to
// the table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/file.hpp"
#include "tandem/core/touch.hpp"

namespace tandem::data {

enum class BlockKind : std::uint64_t { kHead = 0, kPictures = 1 };

struct Block {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  BlockKind kind = BlockKind::kHead;
  std::string sha256;  // 64 hex digits

  std::uint64_t end() const { return offset + bytes; }
};

// Limit for one block, because reading any part of it takes as much memory.
constexpr std::uint64_t kMaxBlockBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 30;

std::string encode_block_table(const std::vector<Block>& blocks);

class BlockTable {
 public:
  // `bytes`: a table whose digest was verified. Its blocks must tile [begin, end) of the file.
  BlockTable(std::string_view bytes, std::uint64_t begin, std::uint64_t end,
             const std::string& path);

  const std::vector<Block>& blocks() const { return blocks_; }
  // The block of this offset; blocks().end() behind the last.
  std::vector<Block>::const_iterator at(std::uint64_t offset) const;
  // Whether [offset, offset + bytes) lies in blocks of this kind.
  bool covers(std::uint64_t offset, std::uint64_t bytes, BlockKind kind) const;
  // Reads all blocks of a kind and compares their digests.
  void prove(const File& file, BlockKind kind, const Touch& touch) const;

 private:
  std::vector<Block> blocks_;
};

// The table of a file that was opened before.
BlockTable decode_block_table(std::string_view bytes, const std::string& path);

// Reads ranges of a file and verifies the blocks that hold them. One thread per object.
class ProvenReader {
 public:
  // All must outlive it. `touch` is called after each block. `begin`: offset of the packed file in
  // `file`.
  ProvenReader(const BlockTable& table, const File& file, const Touch& touch,
               std::uint64_t begin = 0)
      : table_(table), file_(file), touch_(touch), begin_(begin) {}

  // The block in which the range ends is kept for the next call.
  void read(std::uint64_t offset, std::uint64_t bytes, void* values);

 private:
  const BlockTable& table_;
  const File& file_;
  const Touch& touch_;
  const std::uint64_t begin_;
  std::vector<std::uint8_t> kept_;
  std::size_t kept_index_ = static_cast<std::size_t>(-1);
};

}  // namespace tandem::data
