// Reads a file from first to last byte, and decompresses gzip data. One thread per object. Throws
// MissingInputError, IoError, and DataError if gzip data is damaged or cut short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tandem::data {

// A byte of deflate data becomes at most so many (https://zlib.net/zlib_tech.html).
constexpr std::uint64_t kMaxInflated = 1032;

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Reads until `bytes` are there or the stream ends; returns how many were read. The last bytes
  // of gzip data are handed out before their checksum is known: only a read that meets the end
  // (returns less than asked) proves them.
  virtual std::size_t read(void* data, std::size_t bytes) = 0;
  // No more than this can follow, whatever a header in it claims.
  virtual std::uint64_t most_left() const = 0;
  // The file, and the archive around it, as a message names it.
  virtual std::string where() const = 0;
};

// The little-endian value of the `count` (at most 8) bytes at `at`. They must exist.
inline std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

// The same of big-endian bytes.
inline std::uint64_t big_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (const char byte : bytes.substr(at, count)) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

// Appends the bytes of an unsigned number, the lowest first.
template <typename Unsigned>
void append_little_endian(std::string& bytes, Unsigned value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  }
}

// 3 if the text begins with the byte order mark of UTF-8, as editors on Windows write it; else 0.
inline std::size_t byte_order_mark_bytes(std::string_view text) {
  return text.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0;
}

// Compression is recognized by content, not by name.
std::unique_ptr<ByteStream> open_byte_stream(const std::string& path);

// The first bytes of a packed data set with a user block, and of an HDF5 file.
constexpr std::string_view kSealBegins = "tandem-dataset";
constexpr std::string_view kHdf5Signature("\x89HDF\r\n\x1a\n", 8);

// The first bytes of a file, at most 64.
std::string beginning_of(const std::string& path);
// These bytes decide, not the name.
bool is_gzip_file(const std::string& path);
bool is_zip_file(const std::string& path);

// "a WebP picture", "a GIF picture", … by the first 16 bytes; empty for PNG, JPEG and no picture.
std::string foreign_picture(std::string_view beginning);

// Describes unexpected bytes for a message: "an empty file", "a web page", "gzip data", …, else the
// first bytes in hexadecimal.
std::string describe_beginning(std::string_view beginning);
// The same of beginning_of().
std::string describe_file(const std::string& path);

}  // namespace tandem::data
