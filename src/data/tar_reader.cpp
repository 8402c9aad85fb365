#include "tar_reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "source_file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kMaxArchive = std::uint64_t{1} << 30;  // a bomb would be larger

// A header of 512 bytes; fields at the offsets of POSIX ustar.
struct Header {
  std::array<char, kBlock> bytes;

  std::string text(std::size_t offset, std::size_t length) const {
    return std::string(bytes.data() + offset, strnlen(bytes.data() + offset, length));
  }
  // Octal digits, ended by a space or a zero byte; false where there is anything else.
  bool octal(std::size_t offset, std::size_t length, std::uint64_t& value) const {
    const std::string digits = trim(text(offset, length));
    if (digits.empty()) return false;
    value = 0;
    for (const char digit : digits) {
      if (digit < '0' || digit > '7') return false;
      value = value * 8 + static_cast<std::uint64_t>(digit - '0');
    }
    return true;
  }
  bool is_zero() const {
    return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
  }
  // The sum of all bytes, those of the checksum itself counted as spaces.
  std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(bytes[i]);
    }
    return sum;
  }
  std::string name() const {
    const std::string prefix = text(257, 6) == "ustar" ? text(345, 155) : "";
    return prefix.empty() ? text(0, 100) : prefix + "/" + text(0, 100);
  }
  char type() const { return bytes[156]; }
};

bool leaves_folder(const std::string& name) {
  if (name.empty() || name[0] == '/') return true;
  const std::vector<std::string> parts = split(name, '/');
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

// Whether pax records ("LENGTH KEY=VALUE\n") change what the next header says of its member.
bool changes_member(const std::string& records) {
  for (const char* key : {" path=", " size=", " linkpath=", " GNU.sparse"}) {
    if (records.find(key) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TarReader::TarReader(std::unique_ptr<ByteStream> archive) : archive_(std::move(archive)) {}

bool TarReader::next() {
  skip(left_ + padding_);
  left_ = padding_ = 0;
  for (;;) {
    const std::uint64_t at = offset_;
    Header header;
    read_whole(header.bytes.data(), kBlock);
    if (header.is_zero()) {
      skip_to_end();
      return false;
    }
    std::uint64_t sum = 0;
    if (!header.octal(148, 8, sum) || sum != header.sum()) {
      fail(at, "a header with a wrong checksum", "a tar header");
    }
    std::uint64_t size = 0;
    if (!header.octal(124, 12, size) || size > kMaxArchive) {
      fail(at + 124, "a member of unknown or too large a size", "at most 1 GiB");
    }
    name_ = header.name();
    size_ = left_ = size;
    padding_ = (kBlock - size % kBlock) % kBlock;
    if (leaves_folder(name_)) {
      fail(at, "the member '" + name_ + "'", "names inside the archive's folder");
    }
    switch (header.type()) {
      case '0':
      case '\0':
        return true;
      case '5':  // a folder
        break;
      case 'x':
      case 'g': {
        if (size > 64 * 1024) fail(at, "an extended header above 64 KiB", "a small one");
        std::string records(size, '\0');
        read_whole(records.data(), size);
        left_ = 0;
        if (changes_member(records)) {
          fail(at, "an extended header that renames or resizes a member", "plain members");
        }
        break;
      }
      default:
        fail(at, "the member '" + name_ + "' of type '" + header.type() + "'",
             "regular files and folders only");
    }
    skip(left_ + padding_);
    left_ = padding_ = 0;
  }
}

std::size_t TarReader::read(void* data, std::size_t bytes) {
  const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, left_));
  read_whole(data, step);
  left_ -= step;
  return step;
}

std::uint64_t TarReader::most_left() const { return std::min(left_, archive_->most_left()); }

std::string TarReader::where() const { return archive_->where() + ": member " + name_; }

void TarReader::read_whole(void* data, std::size_t bytes) {
  const std::size_t got = archive_->read(data, bytes);
  offset_ += got;
  if (offset_ > kMaxArchive) fail(offset_, "more than 1 GiB", "a smaller archive");
  if (got < bytes) fail(offset_, "the end", "a whole tar archive");
}

void TarReader::skip(std::uint64_t bytes) {
  std::array<char, 16 * 1024> sink;
  while (bytes > 0) {
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, sink.size()));
    read_whole(sink.data(), step);
    bytes -= step;
  }
}

void TarReader::skip_to_end() {
  std::array<char, 16 * 1024> sink;
  std::size_t got = 0;
  do {
    got = archive_->read(sink.data(), sink.size());
    offset_ += got;
    if (offset_ > kMaxArchive) fail(offset_, "more than 1 GiB", "a smaller archive");
  } while (got == sink.size());
}

void TarReader::fail(std::uint64_t offset, const std::string& found,
                     const std::string& expected) const {
  throw fault_at(archive_->where() + " (uncompressed)", offset, found, expected);
}

}  // namespace tandem::data
