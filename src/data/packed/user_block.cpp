#include "user_block.hpp"

#include "data/files/byte_stream.hpp"
#include "data/picture_sources/foreign_file.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::size_t kCrcOffset = kUserBlockBytes - 4;

std::string read_at(const File& file, std::uint64_t offset, std::size_t bytes) {
  std::string data(bytes, '\0');
  data.resize(file.read_at(offset, data.data(), bytes));
  return data;
}

[[noreturn]] void fail(const File& file, const std::string& fault) {
  throw DataError(file.path() + ": " + fault + "; pack or copy the file again");
}

UserBlock parse(const std::string& block) {
  UserBlock stated;
  stated.length = little_endian(block, 24, 8);
  stated.sha256 = block.substr(32, 64);
  stated.version = little_endian(block, 16, 4) == 2 ? 2 : 1;
  if (stated.version == 2) stated.table_bytes = little_endian(block, 96, 8);
  return stated;
}

// All but the pictures.
FileProof prove_blocks(const File& file, const UserBlock& stated, const Touch& touch) {
  if (stated.table_bytes > stated.length || stated.table_bytes > kMaxTableBytes) {
    fail(file, "states a table of digests of " + std::to_string(stated.table_bytes) +
                   " bytes, which it cannot hold");
  }
  const std::uint64_t table_at = kUserBlockBytes + stated.length - stated.table_bytes;
  const std::string bytes = read_at(file, table_at, stated.table_bytes);
  const std::string found = sha256_hex(bytes);
  if (found != stated.sha256) {
    fail(file, "is damaged: the SHA-256 of its table of digests (" +
                   std::to_string(stated.table_bytes) + " bytes at offset " +
                   std::to_string(table_at) + ") is " + found + ", its header states " +
                   stated.sha256);
  }
  FileProof proof{true, found, BlockTable(bytes, kUserBlockBytes, table_at, file.path())};
  proof.table->prove(file, BlockKind::kHead, touch);
  return proof;
}

}  // namespace

std::string encode_user_block(const UserBlock& block) {
  std::string bytes = std::string(kSealBegins) + "\r\n";
  append_little_endian(bytes, block.version);
  append_little_endian(bytes, static_cast<std::uint32_t>(kUserBlockBytes));
  append_little_endian(bytes, block.length);
  bytes += block.sha256;
  append_little_endian(bytes, block.table_bytes);
  bytes.resize(kCrcOffset);
  append_little_endian(bytes, crc32(bytes.data(), kCrcOffset));
  return bytes;
}

FileProof prove_file(const File& file, const Touch& touch) {
  const std::string block = read_at(file, 0, kUserBlockBytes);
  if (begins_with(block, kHdf5Signature)) return {false, sha256_of_file(file, 0, touch), {}};
  const bool has_signature =
      read_at(file, kUserBlockBytes, kHdf5Signature.size()) == kHdf5Signature;
  if (!begins_with(block, kSealBegins) && !has_signature) throw not_packed(file.path());
  if (block.size() < kUserBlockBytes) {
    fail(file,
         "ends at offset " + std::to_string(block.size()) + ", inside the 512 bytes of its header");
  }
  const UserBlock stated = parse(block);
  if (block != encode_user_block(stated)) {
    fail(file, "the 512 bytes at offset 0 are damaged (not the header of a packed data set)");
  }
  const std::uint64_t size = file.size();
  if (size - kUserBlockBytes != stated.length) {
    fail(file, "has " + std::to_string(size) + " bytes, its header states " +
                   std::to_string(kUserBlockBytes + stated.length));
  }
  if (stated.version == 2) return prove_blocks(file, stated, touch);
  const std::string found = sha256_of_file(file, kUserBlockBytes, touch);
  if (found != stated.sha256) {
    fail(file, "is damaged: the SHA-256 from offset 512 on is " + found + ", its header states " +
                   stated.sha256);
  }
  return {true, found, {}};
}

}  // namespace tandem::data
