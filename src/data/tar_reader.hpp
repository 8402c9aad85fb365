// What: the regular files in a tar archive (ustar, GNU and pax headers), one after the other.
// Owns: the stream below. Threads: one per object. Throws: DataError for damage, for members that
// could reach outside a folder (absolute paths, "..", links, devices) and for archives above 1 GiB.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "byte_stream.hpp"

namespace tandem::data {

class TarReader : public ByteStream {
 public:
  explicit TarReader(std::unique_ptr<ByteStream> archive);

  // Goes to the next regular file, over what is left of this one. False at the end of the archive,
  // which is then read whole, so that a checksum at its end has been tested.
  bool next();
  // Of the present member.
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  std::size_t read(void* data, std::size_t bytes) override;
  std::uint64_t most_left() const override;
  std::string where() const override;

 private:
  void read_whole(void* data, std::size_t bytes);
  void skip(std::uint64_t bytes);
  void skip_to_end();
  [[noreturn]] void fail(std::uint64_t offset, const std::string& found,
                         const std::string& expected) const;

  std::unique_ptr<ByteStream> archive_;
  std::uint64_t offset_ = 0;  // in the uncompressed archive
  std::string name_;
  std::uint64_t size_ = 0;
  std::uint64_t left_ = 0;     // of the member's content
  std::uint64_t padding_ = 0;  // after the content, up to a multiple of 512
};

}  // namespace tandem::data
