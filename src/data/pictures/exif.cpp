#include "exif.hpp"

#include <cstddef>
#include <cstdint>

#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::string_view kExif("Exif\0\0", 6);
constexpr unsigned char kApplicationSegment = 0xE1;
constexpr unsigned char kScan = 0xDA;
constexpr unsigned char kEndOfImage = 0xD9;
constexpr std::size_t kTagBytes = 12;
constexpr std::uint64_t kOrientationTag = 0x0112;
constexpr std::uint64_t kShort = 3;
constexpr int kUpright = 1;

// Integers of either byte order; zeros after the end.
class Bytes {
 public:
  Bytes(std::string_view bytes, bool is_big_endian) : bytes_(bytes), is_big_(is_big_endian) {}

  std::uint64_t integer(std::size_t at, std::size_t size) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value = value << 8 | byte(at + (is_big_ ? i : size - 1 - i));
    }
    return value;
  }

 private:
  std::uint64_t byte(std::size_t at) const {
    return at < bytes_.size() ? static_cast<unsigned char>(bytes_[at]) : 0;
  }

  std::string_view bytes_;
  bool is_big_;
};

// `tiff`: the content of an EXIF segment.
int orientation_in(std::string_view tiff) {
  const bool is_big = tiff.substr(0, 4) == std::string_view("MM\0*", 4);
  if (!is_big && tiff.substr(0, 4) != std::string_view("II*\0", 4)) return kUpright;
  const Bytes bytes(tiff, is_big);
  const std::size_t list = bytes.integer(4, 4);
  const std::size_t tags = bytes.integer(list, 2);
  for (std::size_t i = 0; i < tags; ++i) {
    const std::size_t tag = list + 2 + i * kTagBytes;
    if (tag + kTagBytes > tiff.size()) return kUpright;
    if (bytes.integer(tag, 2) != kOrientationTag) continue;
    const std::uint64_t value = bytes.integer(tag + 8, 2);
    const bool is_valid = bytes.integer(tag + 2, 2) == kShort && value >= 1 && value <= 8;
    return is_valid ? static_cast<int>(value) : kUpright;
  }
  return kUpright;
}

}  // namespace

int exif_orientation(std::string_view jpeg) {
  const Bytes bytes(jpeg, /*is_big_endian=*/true);
  std::size_t at = 2;  // after the marker of the start
  while (at + 4 <= jpeg.size() && bytes.integer(at, 1) == 0xFF) {
    const std::uint64_t marker = bytes.integer(at + 1, 1);
    if (marker == 0xFF) {  // filling
      ++at;
      continue;
    }
    if (marker == kScan || marker == kEndOfImage) return kUpright;
    const std::size_t length = bytes.integer(at + 2, 2);
    if (length < 2) return kUpright;
    const std::string_view segment = jpeg.substr(at + 4, length - 2);
    if (marker == kApplicationSegment && begins_with(segment, kExif)) {
      return orientation_in(segment.substr(kExif.size()));
    }
    at += 2 + length;
  }
  return kUpright;
}

}  // namespace tandem::data
