#include "block_table.hpp"

#include <algorithm>
#include <cstring>

#include "data/files/byte_stream.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

constexpr std::string_view kMagic("tandem-table-1\r\n", 16);
constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kHeaderBytes = kMagic.size() + 8;
constexpr std::size_t kEntryBytes = std::size_t{3} * 8 + kDigestDigits;

[[noreturn]] void fail_table(const std::string& path, const std::string& fault) {
  throw DataError(path + ": its table of digests " + fault +
                  "; the file is damaged or hostile, pack it again");
}

// Verified. `begin`: offset of the packed file in `file`.
void read_block(const File& file, const Block& block, std::size_t index, std::uint8_t* to,
                std::uint64_t begin = 0) {
  const std::size_t got = file.read_at(begin + block.offset, to, block.bytes);
  if (got != block.bytes) {
    throw DataError(file.path() + ": ends at offset " + std::to_string(block.offset + got) +
                    ", inside of block " + std::to_string(index) + "; pack or copy the file again");
  }
  const std::string found = sha256_hex({reinterpret_cast<const char*>(to), got});
  if (found == block.sha256) return;
  throw DataError(file.path() + ": block " + std::to_string(index) + " (" +
                  std::to_string(block.bytes) + " bytes at offset " + std::to_string(block.offset) +
                  ") is damaged: its SHA-256 is " + found + ", the table states " + block.sha256 +
                  "; pack or copy the file again");
}

}  // namespace

std::string encode_block_table(const std::vector<Block>& blocks) {
  std::string bytes(kMagic);
  bytes.reserve(kHeaderBytes + blocks.size() * kEntryBytes);
  append_little_endian(bytes, std::uint64_t{blocks.size()});
  for (const Block& block : blocks) {
    append_little_endian(bytes, block.offset);
    append_little_endian(bytes, block.bytes);
    append_little_endian(bytes, static_cast<std::uint64_t>(block.kind));
    bytes += block.sha256;
  }
  return bytes;
}

BlockTable::BlockTable(std::string_view bytes, std::uint64_t begin, std::uint64_t end,
                       const std::string& path) {
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < kHeaderBytes) {
    fail_table(path, "does not begin as one");
  }
  const std::uint64_t count = little_endian(bytes, kMagic.size(), 8);
  const std::size_t entries = bytes.size() - kHeaderBytes;
  if (entries % kEntryBytes != 0 || count != entries / kEntryBytes) {
    fail_table(path, "states " + std::to_string(count) + " blocks in " +
                         std::to_string(bytes.size()) + " bytes");
  }
  blocks_.reserve(count);
  std::uint64_t next = begin;
  for (std::size_t at = kHeaderBytes; at < bytes.size(); at += kEntryBytes) {
    Block block;
    block.offset = little_endian(bytes, at, 8);
    block.bytes = little_endian(bytes, at + 8, 8);
    const std::uint64_t kind = little_endian(bytes, at + 16, 8);
    block.sha256 = bytes.substr(at + 24, kDigestDigits);
    if (block.offset != next || block.bytes == 0 || block.bytes > kMaxBlockBytes || kind > 1) {
      fail_table(path, "has a block (number " + std::to_string(blocks_.size()) + ") of " +
                           std::to_string(block.bytes) + " bytes at offset " +
                           std::to_string(block.offset) + " and of kind " + std::to_string(kind) +
                           ", one at offset " + std::to_string(next) +
                           ", of at most 67,108,864 bytes and of kind 0 or 1 is expected");
    }
    block.kind = static_cast<BlockKind>(kind);
    next = block.end();
    blocks_.push_back(std::move(block));
  }
  if (next != end) {
    fail_table(path, "covers the bytes before offset " + std::to_string(next) + ", those before " +
                         std::to_string(end) + " are expected");
  }
}

BlockTable decode_block_table(std::string_view bytes, const std::string& path) {
  if (bytes.size() < kHeaderBytes + kEntryBytes) fail_table(path, "has no block");
  const std::size_t last = bytes.size() - kEntryBytes;
  return BlockTable(bytes, little_endian(bytes, kHeaderBytes, 8),
                    little_endian(bytes, last, 8) + little_endian(bytes, last + 8, 8), path);
}

std::vector<Block>::const_iterator BlockTable::at(std::uint64_t offset) const {
  return std::upper_bound(blocks_.begin(), blocks_.end(), offset,
                          [](std::uint64_t at, const Block& each) { return at < each.end(); });
}

bool BlockTable::covers(std::uint64_t offset, std::uint64_t bytes, BlockKind kind) const {
  if (blocks_.empty() || offset < blocks_.front().offset || offset > blocks_.back().end() ||
      bytes > blocks_.back().end() - offset) {
    return false;
  }
  for (auto block = at(offset); block != blocks_.end() && block->offset < offset + bytes; ++block) {
    if (block->kind != kind) return false;
  }
  return true;
}

void BlockTable::prove(const File& file, BlockKind kind, const Touch& touch) const {
  std::vector<std::uint8_t> buffer;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].kind != kind) continue;
    buffer.resize(std::max<std::size_t>(buffer.size(), blocks_[i].bytes));
    read_block(file, blocks_[i], i, buffer.data());
    call(touch);
  }
}

void ProvenReader::read(std::uint64_t offset, std::uint64_t bytes, void* values) {
  auto* to = static_cast<std::uint8_t*>(values);
  const std::vector<Block>& blocks = table_.blocks();
  auto block = table_.at(offset);
  const std::uint64_t end = offset + bytes;
  for (; offset < end; ++block) {
    if (block == blocks.end()) {
      throw InternalError("bytes " + std::to_string(offset) + " to " + std::to_string(end) +
                          " of a packed file have no block");
    }
    const auto index = static_cast<std::size_t>(block - blocks.begin());
    if (offset == block->offset && end >= block->end() && index != kept_index_) {
      read_block(file_, *block, index, to, begin_);
      to += block->bytes;
      offset = block->end();
      call(touch_);
      continue;
    }
    if (index != kept_index_) {
      kept_index_ = static_cast<std::size_t>(-1);
      kept_.resize(block->bytes);
      read_block(file_, *block, index, kept_.data(), begin_);
      kept_index_ = index;
      call(touch_);
    }
    const std::uint64_t some = std::min(end, block->end()) - offset;
    std::memcpy(to, kept_.data() + (offset - block->offset), some);
    to += some;
    offset += some;
  }
}

}  // namespace tandem::data
