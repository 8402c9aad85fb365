#include "tar_index.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "data/files/source_file.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

// Holds the headers and labels between two pictures.
constexpr std::size_t kWindowBytes = 4096;
constexpr std::uint64_t kMaxExtension = std::uint64_t{1} << 20;

constexpr std::uint64_t kMaxMemberBytes = std::uint64_t{1} << 50;

constexpr std::size_t kTarBlockBytes = 512;
constexpr std::size_t kNameBytes = 100;
constexpr std::size_t kSizeAt = 124, kSizeBytes = 12;
constexpr std::size_t kSumAt = 148, kSumBytes = 8;
constexpr std::size_t kTypeAt = 156;
// Of the types: GNU's long link, defaults for all members, GNU's label of the archive.
constexpr std::string_view kPassedOver = "KgV";
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345, kPrefixBytes = 155;

std::string text_at(const char* block, std::size_t at, std::size_t most) {
  return {block + at, strnlen(block + at, most)};
}

// The field holds octal digits, or none for 0. GNU tar writes a number of 2^33 or more in binary:
// a byte 0x80, then the number, big-endian.
bool read_number(const char* field, std::size_t bytes, std::uint64_t& value) {
  value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (std::size_t i = 1; i < bytes; ++i) {
      if (value >> 55 != 0) return false;
      value = value << 8 | static_cast<unsigned char>(field[i]);
    }
    return field[0] == '\x80';
  }
  const std::string digits = trim(text_at(field, 0, bytes));
  if (digits.find_first_not_of("01234567") != std::string::npos) return false;
  for (const char digit : digits) value = value * 8 + static_cast<std::uint64_t>(digit - '0');
  return true;
}

std::optional<std::uint64_t> decimal(const std::string& digits) {
  if (!is_digits(digits) || digits.size() > 15) return std::nullopt;
  return std::stoull(digits);
}

// Of the header with blanks for the sum itself. Old programs add the bytes as signed ones.
bool has_checksum(const char* block) {
  std::int64_t plain = 0, with_signs = 0;
  for (std::size_t i = 0; i < kTarBlockBytes; ++i) {
    const char byte = i >= kSumAt && i < kSumAt + kSumBytes ? ' ' : block[i];
    plain += static_cast<unsigned char>(byte);
    with_signs += static_cast<signed char>(byte);
  }
  std::uint64_t stated = 0;
  if (!read_number(block + kSumAt, kSumBytes, stated)) return false;
  const auto sum = static_cast<std::int64_t>(stated);
  return sum == plain || sum == with_signs;
}

bool is_empty(const char* block) {
  return std::all_of(block, block + kTarBlockBytes, [](char byte) { return byte == 0; });
}

struct Compression {
  const char* signature;
  const char* name;
  const char* program;
  const char* ending;
};
constexpr std::array<Compression, 4> kCompressions = {
    {{"\x1f\x8b", "gzip", "gunzip", ".gz"},
     {"BZh", "bzip2", "bunzip2", ".bz2"},
     {"\xfd"
      "7zXZ",
      "xz", "unxz", ".xz"},
     {"\x28\xb5\x2f\xfd", "zstd", "unzstd", ".zst"}}};

// The programs refuse names without the ending of their format.
std::string unpack_command(const Compression& form, const std::string& path) {
  const std::string program = form.program;
  if (ends_with(path, form.ending)) return program + " -k " + shell_word(path);
  const std::string stem = ends_with(path, ".tar") ? path.substr(0, path.size() - 4) : path;
  return program + " < " + shell_word(path) + " > " + shell_word(stem + ".plain.tar");
}

}  // namespace

struct TarIndex::Header {
  std::uint64_t offset = 0;
  std::string name;
  std::uint64_t bytes = 0;
  char type = '0';

  std::uint64_t content() const { return offset + kTarBlockBytes; }
  // Links, devices and folders have no content, whatever their size says.
  std::uint64_t end() const {
    if (type >= '1' && type <= '6') return content();
    return content() + (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
  }
};

TarIndex::TarIndex(const File& file) : file_(file), size_(file.size()), buffer_(kWindowBytes) {
  fill(0);
  const std::string_view start(buffer_.data(), buffered_);
  for (const Compression& each : kCompressions) {
    if (start.substr(0, std::strlen(each.signature)) != each.signature) continue;
    throw DataError(file.path() + ": is compressed with " + each.name +
                    ", a plain tar archive was expected, because its members are read in any "
                    "order; unpack it: " +
                    unpack_command(each, file.path()));
  }
}

bool TarIndex::next(TarMember& member) {
  Extensions extensions;
  for (;;) {
    const char* block = block_at(at_);
    if (is_empty(block)) {
      require_end();
      return false;
    }
    const Header header = header_at(at_);
    at_ = header.end();
    if (header.type == 'L') {  // GNU's long name, with a zero at its end
      extensions.name = extension(header).c_str();
    } else if (header.type == 'x') {
      read_extended_header(header, extensions);
    } else if (kPassedOver.find(header.type) == std::string_view::npos) {
      member = member_of(header, extensions);
      return true;
    }
  }
}

TarMember TarIndex::member_of(const Header& header, const Extensions& extensions) {
  TarMember member;
  member.name = extensions.name.empty() ? header.name : extensions.name;
  while (begins_with(member.name, "./")) member.name.erase(0, 2);
  member.offset = header.content();
  member.bytes = header.end() == header.content() ? 0 : header.bytes;
  member.is_folder = header.type == '5';
  member.is_regular = header.type == '0' || header.type == '\0' || header.type == '7';
  if (header.type == 'S' || extensions.is_sparse) {
    fail(header.offset, "the sparse file " + member.name,
         "whole files, as tar stores them without --sparse");
  }
  if (extensions.bytes) {
    Header sized = header;
    sized.bytes = *extensions.bytes;
    member.bytes = sized.bytes;
    at_ = sized.end();
  }
  if (at_ > size_) {
    fail(size_, "the end, inside of " + member.name, format_count(at_) + " bytes at least");
  }
  return member;
}

// "LENGTH KEY=VALUE\n" for each; LENGTH is of all of it.
void TarIndex::read_extended_header(const Header& header, Extensions& extensions) {
  const std::string text = extension(header);
  const auto require = [&](bool holds) {
    if (!holds) fail(header.offset, "a damaged extended header", "a whole tar archive");
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t blank = std::min(text.find(' ', at), text.size());
    const std::uint64_t length = decimal(text.substr(at, blank - at)).value_or(0);
    require(length >= blank - at + 3 && length <= text.size() - at &&
            text[at + length - 1] == '\n');
    const std::string record = text.substr(blank + 1, at + length - blank - 2);
    if (begins_with(record, "path=")) extensions.name = record.substr(5);
    if (begins_with(record, "size=")) {
      extensions.bytes = decimal(record.substr(5));
      require(extensions.bytes.has_value());
    }
    if (begins_with(record, "GNU.sparse.")) extensions.is_sparse = true;
    at += length;
  }
}

std::string TarIndex::extension(const Header& header) {
  if (header.bytes > kMaxExtension || header.end() > size_) {
    fail(header.offset, "an extended header of " + format_count(header.bytes) + " bytes",
         "at most 1,048,576 within the archive");
  }
  return bytes_at(header.content(), header.bytes);
}

std::string TarIndex::content(const TarMember& member) {
  return bytes_at(member.offset, member.bytes);
}

std::string TarIndex::bytes_at(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes > buffer_.size()) {
    std::string content(bytes, '\0');
    const std::size_t got = file_.read_at(offset, content.data(), content.size());
    if (got != bytes) fail(offset + got, "the end", "a whole tar archive");
    return content;
  }
  if (offset < buffer_at_ || offset + bytes > buffer_at_ + buffered_) fill(offset);
  if (offset + bytes > buffer_at_ + buffered_) {
    fail(buffer_at_ + buffered_, "the end", "a whole tar archive");
  }
  return {buffer_.data() + (offset - buffer_at_), static_cast<std::size_t>(bytes)};
}

void TarIndex::fill(std::uint64_t offset) {
  buffer_at_ = offset;
  buffered_ = file_.read_at(offset, buffer_.data(), buffer_.size());
}

const char* TarIndex::block_at(std::uint64_t offset) {
  if (offset < buffer_at_ || offset + kTarBlockBytes > buffer_at_ + buffered_) fill(offset);
  if (buffered_ < kTarBlockBytes) {
    fail(buffer_at_ + buffered_, "the end", "the mark of the end of a tar archive");
  }
  return buffer_.data() + (offset - buffer_at_);
}

TarIndex::Header TarIndex::header_at(std::uint64_t offset) {
  const char* block = block_at(offset);
  Header header;
  header.offset = offset;
  if (!has_checksum(block)) {
    fail(offset, "no header of a member, or a damaged one", "a tar archive");
  }
  header.name = text_at(block, 0, kNameBytes);
  // POSIX stores the beginning of a long name in a field of its own.
  if (std::string_view(block + kMagicAt, 6) == std::string_view("ustar\0", 6)) {
    const std::string prefix = text_at(block, kPrefixAt, kPrefixBytes);
    if (!prefix.empty()) header.name = prefix + "/" + header.name;
  }
  header.type = block[kTypeAt];
  if (!read_number(block + kSizeAt, kSizeBytes, header.bytes) || header.bytes > kMaxMemberBytes) {
    fail(offset, "a size that is not a number", "the size of " + header.name);
  }
  return header;
}

// Only the first of several joined archives would be read.
void TarIndex::require_end() {
  for (; at_ + kTarBlockBytes <= size_; at_ += kTarBlockBytes) {
    if (is_empty(block_at(at_))) continue;
    fail(at_, "bytes after the mark of its end, as in archives that were joined by cat",
         "one archive");
  }
}

void TarIndex::fail(std::uint64_t offset, const std::string& found,
                    const std::string& expected) const {
  throw fault_at(file_.path(), offset, found, expected);
}

}  // namespace tandem::data
