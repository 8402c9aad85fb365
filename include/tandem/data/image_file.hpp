// Decodes PNG and JPEG files, finds them, and encodes them. Throws MissingInputError, IoError;
// DataError naming the file if it is damaged, truncated, too large for the limits or the memory, or
// of another type.
//
// Files are untrusted. Memory of a claimed size is allocated only if the file is long enough to
// hold so many pixels. Only what pixels need is parsed (no color profiles or texts, of EXIF the
// orientation in a JPEG), and a JPEG whose decoder would have to guess pixels is refused. Values
// equal Pillow's, except that 16-bit gray is reduced to its upper byte.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/span.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

constexpr std::uint64_t kMaxPicturePixels = std::uint64_t{1} << 26;  // 67 million
constexpr int kMaxPictureSide = 1'000'000;
constexpr std::uint64_t kMaxPictureBytes = std::uint64_t{256} << 20;  // of a file

// Rows from top to bottom, the channels of a pixel beside each other: gray; gray, alpha; red,
// green, blue; red, green, blue, alpha. Alpha 0 is transparent, and colors are not multiplied.
struct Picture {
  int channels = 0;
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> values;
  int orientation = 1;  // by EXIF, 1 to 8; 1: the values are upright
};

// The picture turned upright, with orientation 1.
Picture upright(Picture picture);

// The extent of a picture according to its file.
struct PictureExtent {
  int height = 0;
  int width = 0;
  bool has_color = false;  // a palette counts as color
  int orientation = 1;     // as in Picture; height and width are those of the values

  std::uint64_t pixels() const {
    return static_cast<std::uint64_t>(height) * static_cast<std::uint64_t>(width);
  }
};

PictureExtent upright(PictureExtent extent);

// Called with the bytes that reading or decoding takes, before any of them is allocated.
using BeforeTaking = std::function<void(std::uint64_t)>;
// The whole file, at most 268 MB.
std::string read_picture_bytes(const std::string& path, const BeforeTaking& before = nullptr);
// Decodes bytes in memory; `where` names them in messages. The content decides between PNG and
// JPEG, not the name.
Picture decode_picture(std::string_view bytes, const std::string& where,
                       std::uint64_t most_pixels = kMaxPicturePixels,
                       const BeforeTaking& before = nullptr);
// Checks that decode_picture() would accept these bytes, but in less time: it decodes a JPEG at an
// eighth of its size. Throws the same errors.
PictureExtent prove_decodable(std::string_view bytes, const std::string& where,
                              std::uint64_t most_pixels = kMaxPicturePixels,
                              const BeforeTaking& before = nullptr);
// Reads only as much of the file as it needs.
PictureExtent read_picture_extent(const std::string& path);

// Whether the name ends like that of a PNG or JPEG file.
bool is_picture_name(const std::string& path);

// The files of a folder and its subfolders, sorted by the bytes of their paths, which begin with
// `folder`. Names that begin with a dot are ignored; links are followed.
std::vector<std::string> files_below(const std::string& folder);

// Whether a PNG has images of this kind: gray or red, green and blue.
bool has_png_form(const ImageShape& shape);

// An image of a data set as the bytes of a PNG file (RFC 2083, ISO/IEC 15948). `pixels`: one image
// in CHW order, of a shape that has_png_form(). Throws InternalError if libpng fails.
std::string encode_png(const ImageShape& shape, Span<const std::uint8_t> pixels);
// The same as the bytes of a JPEG file. `quality`: 1 to 100. Throws InternalError if libjpeg fails.
std::string encode_jpeg(const ImageShape& shape, Span<const std::uint8_t> pixels, int quality);

}  // namespace tandem::data
