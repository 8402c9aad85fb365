// Reads the regular files of a tar or zip archive, one after the other, with libarchive. One thread
// per object. Throws DataError for damage, for archives above a limit, and for members that could
// reach outside a folder (in a tar archive: absolute paths, "..", links, devices), and what the
// input throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "byte_stream.hpp"
#include "tandem/core/file.hpp"

struct archive;        // libarchive's
struct archive_entry;  // likewise

namespace tandem::data {

class ArchiveReader : public ByteStream {
 public:
  // A tar archive of at most 1 GiB. The stream undoes its compression, because libarchive does not
  // test gzip's CRC-32.
  explicit ArchiveReader(std::unique_ptr<ByteStream> tar);
  // A zip archive of at most 1,000 members that are stored or deflated.
  explicit ArchiveReader(File zip);
  ArchiveReader(const ArchiveReader&) = delete;  // libarchive keeps its address
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  // Goes to the next regular file, over what is left of this one. False at the end of the archive.
  // A stream is then read whole, so that a checksum at its end has been tested.
  bool next();
  // Of the present member. No name where it is not in ASCII and the archive says that it is UTF-8.
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  // A read that meets the end tests the CRC-32 of a zip archive's member.
  std::size_t read(void* data, std::size_t bytes) override;
  std::uint64_t most_left() const override;
  std::string where() const override;

 private:
  // What libarchive calls. Its frames cannot be left by an exception, so error_ keeps it.
  static std::ptrdiff_t read_input(::archive* archive, void* self, const void** data);
  static std::int64_t seek_input(::archive* archive, void* self, std::int64_t offset, int whence);

  int open();
  // Returns the code of a call of libarchive that did not fail; throws for one that did.
  int check(int code) const;
  void require_inside_folder(::archive_entry* entry) const;
  void require_known_method(::archive_entry* entry) const;
  void finish_tar(std::int64_t members_end);
  // At the header of the present member.
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const;
  [[noreturn]] void fail_at_end(const std::string& found, const std::string& expected) const;

  std::unique_ptr<ByteStream> tar_;  // one of these two
  std::optional<File> zip_;
  std::vector<char> buffer_;
  std::uint64_t input_at_ = 0;
  bool input_ended_ = false;
  std::exception_ptr error_;
  std::unique_ptr<::archive, int (*)(::archive*)> archive_;
  std::uint64_t members_ = 0;
  std::string name_;
  std::uint64_t size_ = 0;
  std::uint64_t left_ = 0;  // of the member's content
};

}  // namespace tandem::data
