#include "picture_structure.hpp"

#include <cstdint>
#include <cstring>

#include "data/files/byte_stream.hpp"
#include "exif.hpp"
#include "picture_decoder.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

// JPEG (ITU-T T.81, annex B): segments that begin with a marker, and coded data after each start of
// a scan.
class JpegParts {
 public:
  JpegParts(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  PictureExtent check() {
    at_ = 2;  // after the marker of its start
    for (unsigned marker = next_marker(); marker != kEnd; marker = next_marker()) {
      if (is_alone(marker)) continue;
      const std::size_t length = segment_length();
      if (is_frame(marker)) read_frame(length);
      at_ += length;
      if (marker == kScan) has_scan_ = true;
    }
    if (!has_frame_ || !has_scan_) damaged("it has no pixels");
    extent_.orientation = exif_orientation(bytes_);
    return extent_;
  }

 private:
  static constexpr unsigned kEnd = 0xD9;
  static constexpr unsigned kScan = 0xDA;

  [[noreturn]] void damaged(const char* what) const { throw_damaged(where_, "JPEG", what); }

  static bool is_alone(unsigned marker) {
    return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
  }
  static bool is_frame(unsigned marker) {
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
  }

  // Skips coded data, in which a 0 follows each 0xFF.
  unsigned next_marker() {
    for (;;) {
      const void* const found = at_ < bytes_.size()
                                    ? std::memchr(bytes_.data() + at_, 0xFF, bytes_.size() - at_)
                                    : nullptr;
      if (found == nullptr) damaged("it ends before the marker of its end");
      at_ = static_cast<std::size_t>(static_cast<const char*>(found) - bytes_.data()) + 1;
      if (at_ == bytes_.size()) damaged("it ends before the marker of its end");
      const auto marker = static_cast<unsigned char>(bytes_[at_]);
      if (marker == 0xFF) continue;  // a fill byte
      ++at_;
      if (marker != 0) return marker;
    }
  }

  std::size_t segment_length() const {
    if (bytes_.size() - at_ < 2) damaged("it ends inside of a segment");
    const std::size_t length = big_endian(bytes_, at_, 2);
    if (length < 2 || length > bytes_.size() - at_) damaged("it ends inside of a segment");
    return length;
  }

  void read_frame(std::size_t length) {
    if (has_frame_ || length < 8) damaged("its frame header is wrong");
    has_frame_ = true;
    extent_.height = static_cast<int>(big_endian(bytes_, at_ + 3, 2));
    extent_.width = static_cast<int>(big_endian(bytes_, at_ + 5, 2));
    extent_.has_color = static_cast<unsigned char>(bytes_[at_ + 7]) != 1;
  }

  const std::string_view bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
  bool has_frame_ = false;
  bool has_scan_ = false;
  PictureExtent extent_;
};

// PNG (ISO/IEC 15948, chapter 5): chunks with a length and a type.
PictureExtent check_png(std::string_view bytes, const std::string& where) {
  constexpr std::size_t kChunkBytes = 12;  // around the data of a chunk
  const auto damaged = [&](const char* what) { throw_damaged(where, "PNG", what); };
  PictureExtent extent;
  bool has_data = false;
  std::size_t at = kPngSignature.size();
  for (bool is_first = true;; is_first = false) {
    if (bytes.size() - at < kChunkBytes) damaged("it ends before its last chunk");
    const std::size_t length = big_endian(bytes, at, 4);
    if (length > bytes.size() - at - kChunkBytes) damaged("it ends inside of a chunk");
    const std::string_view type = bytes.substr(at + 4, 4);
    if (is_first) {
      if (type != "IHDR" || length != 13) damaged("its header is wrong");
      const std::uint64_t width = big_endian(bytes, at + 8, 4);
      const std::uint64_t height = big_endian(bytes, at + 12, 4);
      if (width > kMaxPictureSide || height > kMaxPictureSide) damaged("its sides are too long");
      extent.width = static_cast<int>(width);
      extent.height = static_cast<int>(height);
      const auto kind = static_cast<unsigned char>(bytes[at + 17]);
      extent.has_color = kind != 0 && kind != 4;  // gray, gray with transparency
    }
    has_data = has_data || type == "IDAT";
    at += kChunkBytes + length;
    if (type == "IEND") break;
  }
  if (!has_data) damaged("it has no pixels");
  return extent;
}

}  // namespace

PictureExtent check_picture_structure(std::string_view bytes, const std::string& where) {
  PictureExtent extent;
  if (begins_with(bytes, kJpegSignature)) {
    extent = JpegParts(bytes, where).check();
  } else if (begins_with(bytes, kPngSignature)) {
    extent = check_png(bytes, where);
  } else {
    decode_picture(bytes, where);  // says what it is instead
  }
  require_fitting(extent, where, kMaxPicturePixels);
  return extent;
}

}  // namespace tandem::data
