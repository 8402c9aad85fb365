// What: the members of a zip archive, stored or deflated, as streams. Zip64 sizes are understood;
// encrypted archives and those of several parts are not. Owns: the open file. Threads: one per
// object; a stream must not outlive its reader.
// Throws: MissingInputError, IoError; DataError for damage, also from reading a stream: its length
// and CRC-32 are tested when its end has been read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "byte_stream.hpp"
#include "tandem/core/file.hpp"

namespace tandem::data {

class ZipReader {
 public:
  struct Member {
    std::string name;
    std::uint32_t crc32 = 0;
    bool deflated = false;
    std::uint64_t packed_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t header_at = 0;
  };

  explicit ZipReader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::vector<Member>& members() const { return members_; }
  // Null where there is none of that name.
  const Member* find(const std::string& name) const;
  std::unique_ptr<ByteStream> open(const Member& member) const;

 private:
  void read_directory();
  void read_entries(std::uint64_t at, std::uint64_t bytes, std::uint64_t count);
  std::string read_bytes(std::uint64_t at, std::uint64_t bytes, const char* what) const;
  // Where the member's data begins.
  std::uint64_t data_of(const Member& member) const;

  File file_;
  std::uint64_t size_;
  std::vector<Member> members_;
};

}  // namespace tandem::data
