// Decodes a compressed picture in memory by libpng or libjpeg: first its extent, then its pixels.
// The bytes stay the caller's. One thread per object. Throws DataError naming `where`;
// std::bad_alloc.
//
// Both libraries report errors by longjmp. So each of their calls that can fail is in a function
// that holds plain values only and returns false after an error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "data/augment/regions.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {

class PictureDecoder {
 public:
  virtual ~PictureDecoder() = default;
  virtual PictureExtent extent() const = 0;
  // Bytes that decode() takes at most, of the library and of the picture.
  virtual std::uint64_t memory() = 0;
  // Makes the decoder give the picture at so many eighths of its size, 1 to 8, each side rounded
  // up. Returns 8 if the decoder gives it at its own size only.
  virtual int reduce(int /*eighths*/) { return kWholeSize; }
  static constexpr int kWholeSize = 8;

  // One of the next two is called, once.
  virtual Picture decode() = 0;
  // Calls `on_row` with the first pixel of the region in each of its rows, from top to bottom: the
  // values that decode() has there. The rest of the picture is not decoded, as far as possible, so
  // that damages of it may stay undetected. The region is one of the reduced picture, as stored.
  // If it returns false, nothing has been done, and decode() may be called.
  using OnRow = std::function<void(const std::uint8_t* row)>;
  virtual bool decode_region(const Region& /*region*/, const OnRow& /*on_row*/) { return false; }
};

// Whether the rows, or the columns, of the upright picture are stored from the last to the first.
constexpr bool has_mirrored_rows(int orientation) {
  return orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
}
constexpr bool has_mirrored_columns(int orientation) {
  return orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
}

constexpr std::string_view kPngSignature("\x89PNG\r\n\x1a\n", 8);
constexpr std::string_view kJpegSignature("\xff\xd8\xff", 3);

// By the content; reads the header, as do the next two. DataError for another format.
std::unique_ptr<PictureDecoder> open_picture(std::string_view bytes, const std::string& where);
std::unique_ptr<PictureDecoder> open_png(std::string_view bytes, const std::string& where);
std::unique_ptr<PictureDecoder> open_jpeg(std::string_view bytes, const std::string& where);

// For a picture that needs more memory than there is. The file itself may be valid.
class PictureMemoryError : public DataError {
 public:
  using DataError::DataError;
};

// "WHERE: is a damaged FORMAT file (what the library said); …"
[[noreturn]] void throw_damaged(const std::string& where, const char* format, const char* message);
[[noreturn]] void throw_out_of_memory(const std::string& where);
// DataError for a picture without pixels, or with too many of them.
void require_fitting(const PictureExtent& extent, const std::string& where,
                     std::uint64_t most_pixels);

}  // namespace tandem::data
