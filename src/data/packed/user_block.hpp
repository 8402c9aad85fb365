// The first 512 bytes of a packed file. Their digest shows that the rest is intact before HDF5
// parses it; it does not authenticate the origin. Throws DataError for a file that is damaged or no
// packed data set; IoError.
//
// Layout, integers little-endian: 0 magic "tandem-dataset\r\n"; 16 version 1 (u32); 20 size of the
// block, 512 (u32); 24 length of the rest (u64); 32 SHA-256 of the rest (64 hex digits, so that
// `tail -c +513 FILE | sha256sum` shows the same); 96 zeros; 508 CRC-32 of bytes 0 to 507 (u32).
// In version 2 the digest is that of the table of digests at the end of the file (block_table.hpp),
// and the table's bytes (u64) are at 96.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "block_table.hpp"
#include "tandem/core/file.hpp"

namespace tandem::data {

constexpr std::uint64_t kUserBlockBytes = 512;

struct UserBlock {
  std::uint64_t length = 0;  // of the rest of the file, in bytes
  std::string sha256;        // of the rest or of the table, 64 hex digits
  std::uint32_t version = 1;
  std::uint64_t table_bytes = 0;  // of version 2
};

std::string encode_user_block(const UserBlock& block);

struct FileProof {
  bool sealed = false;
  std::string sha256;  // of the HDF5 part, or of the table
  // Only in version 2. The pictures have not been read.
  std::optional<BlockTable> table;
};

// Reads the whole file, or in version 2 all but the pictures. A file that begins with HDF5's
// signature has no user block and no digest. Any other file must begin with exactly the block that
// encode_user_block() gives for its rest.
FileProof prove_file(const File& file, const Touch& touch = {});

}  // namespace tandem::data
