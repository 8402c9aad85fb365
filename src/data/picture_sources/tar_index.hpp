// The members of an uncompressed tar archive (ustar, GNU and pax formats) and the offset of each in
// the file. Does not read their content. One thread per object. Throws DataError naming file and
// offset for damage, a truncated archive and bytes after its end; IoError.
//
// The formats: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Interchange Format"; GNU
// tar's manual, "Basic Tar Format".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/file.hpp"

namespace tandem::data {

struct TarMember {
  std::string name;          // without "./" in front
  std::uint64_t offset = 0;  // of its content
  std::uint64_t bytes = 0;
  bool is_regular = false;  // no folder, link or device
  bool is_folder = false;
};

class TarIndex {
 public:
  // The file must outlive it. DataError, with the fix, for a compressed archive.
  explicit TarIndex(const File& file);

  // False at the end of the archive.
  bool next(TarMember& member);
  // The content of a member, through the buffer: for small ones.
  std::string content(const TarMember& member);

 private:
  struct Header;
  struct Extensions {  // of the member that follows
    std::string name;
    std::optional<std::uint64_t> bytes;
    bool is_sparse = false;
  };

  void fill(std::uint64_t offset);
  const char* block_at(std::uint64_t offset);
  std::string bytes_at(std::uint64_t offset, std::uint64_t bytes);
  Header header_at(std::uint64_t offset);
  std::string extension(const Header& header);
  void read_extended_header(const Header& header, Extensions& extensions);
  TarMember member_of(const Header& header, const Extensions& extensions);
  void require_end();
  [[noreturn]] void fail(std::uint64_t offset, const std::string& found,
                         const std::string& expected) const;

  const File& file_;
  const std::uint64_t size_;
  std::uint64_t at_ = 0;  // of the next header
  std::vector<char> buffer_;
  std::uint64_t buffer_at_ = 0;
  std::size_t buffered_ = 0;
};

}  // namespace tandem::data
