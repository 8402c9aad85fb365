#include "tandem/data/png_encoder.hpp"

#include <zlib.h>

#include <string_view>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1A\n";
constexpr char kGrey = 0;
constexpr char kRedGreenBlue = 2;

void append_big_endian(std::string& text, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
}

// Length, type, content, and the CRC of type and content.
void append_chunk(std::string& file, const std::string& type, const std::string& content) {
  append_big_endian(file, static_cast<std::uint32_t>(content.size()));
  const std::string checked = type + content;
  file += checked;
  append_big_endian(file, crc32(checked.data(), checked.size()));
}

std::string deflated(const std::string& plain) {
  uLongf size = ::compressBound(static_cast<uLong>(plain.size()));
  std::string packed(size, '\0');
  const int code =
      ::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                 reinterpret_cast<const Bytef*>(plain.data()), static_cast<uLong>(plain.size()));
  if (code != Z_OK) throw InternalError("zlib could not pack an image: " + std::to_string(code));
  packed.resize(size);
  return packed;
}

}  // namespace

bool has_png_form(const ImageShape& shape) { return shape.channels == 1 || shape.channels == 3; }

std::string encode_png(const ImageShape& shape, Span<const std::uint8_t> pixels) {
  if (!has_png_form(shape) || pixels.size() != shape.pixels()) {
    throw InternalError("an image of " + shape.text() + " cannot be written as PNG");
  }
  const auto width = static_cast<std::size_t>(shape.width);
  const auto channels = static_cast<std::size_t>(shape.channels);
  std::string lines;  // a filter type (0: none) and the pixels of each line
  for (std::size_t at = 0; at < shape.plane(); ++at) {
    if (at % width == 0) lines += '\0';
    for (std::size_t channel = 0; channel < channels; ++channel) {
      lines += static_cast<char>(pixels[channel * shape.plane() + at]);
    }
  }
  std::string header;
  append_big_endian(header, static_cast<std::uint32_t>(shape.width));
  append_big_endian(header, static_cast<std::uint32_t>(shape.height));
  constexpr char kBitsOfSample = 8;
  header += kBitsOfSample;
  header += shape.channels == 1 ? kGrey : kRedGreenBlue;
  header.append(3, '\0');  // deflate, its five filters, not interlaced
  std::string file(kSignature);
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT", deflated(lines));
  append_chunk(file, "IEND", "");
  return file;
}

}  // namespace tandem::data
