// Encodes JPEG through libjpeg(-turbo).
// Each of the first three needs the one before it and does not say so.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

// Plain values, because libjpeg's functions leave by longjmp.
struct Writing {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf on_error{};
  char message[JMSG_LENGTH_MAX] = "";
  unsigned char* bytes = nullptr;  // libjpeg allocates it with malloc
  unsigned long size = 0;
};

[[noreturn]] void fail_writing(j_common_ptr info) {
  auto* writing = static_cast<Writing*>(info->client_data);
  info->err->format_message(info, writing->message);
  std::longjmp(writing->on_error, 1);
}

// `rows`: the channels of a pixel beside each other.
bool write_rows(Writing& writing, const ImageShape& shape, const std::uint8_t* rows, int quality) {
  writing.info.err = jpeg_std_error(&writing.errors);
  writing.errors.error_exit = fail_writing;
  writing.info.client_data = &writing;
  if (setjmp(writing.on_error) != 0) return false;
  jpeg_create_compress(&writing.info);
  jpeg_mem_dest(&writing.info, &writing.bytes, &writing.size);
  writing.info.image_height = static_cast<JDIMENSION>(shape.height);
  writing.info.image_width = static_cast<JDIMENSION>(shape.width);
  writing.info.input_components = shape.channels;
  writing.info.in_color_space = shape.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&writing.info);
  jpeg_set_quality(&writing.info, quality, TRUE);
  jpeg_start_compress(&writing.info, TRUE);
  const std::size_t row_bytes =
      static_cast<std::size_t>(shape.width) * static_cast<std::size_t>(shape.channels);
  while (writing.info.next_scanline < writing.info.image_height) {
    // libjpeg wants a pointer to mutable values and only reads them.
    auto* row = const_cast<JSAMPLE*>(rows + writing.info.next_scanline * row_bytes);
    jpeg_write_scanlines(&writing.info, &row, 1);
  }
  jpeg_finish_compress(&writing.info);
  return true;
}

}  // namespace

std::string encode_jpeg(const ImageShape& shape, Span<const std::uint8_t> pixels, int quality) {
  if (!has_png_form(shape) || pixels.size() != shape.pixels()) {
    throw InternalError("an image of " + shape.text() + " cannot be a JPEG file");
  }
  const auto channels = static_cast<std::size_t>(shape.channels);
  std::vector<std::uint8_t> rows(pixels.size());
  for (std::size_t c = 0; c < channels; ++c) {
    const std::uint8_t* from = pixels.data() + c * shape.plane();
    for (std::size_t i = 0; i < shape.plane(); ++i) rows[i * channels + c] = from[i];
  }
  Writing writing;
  const bool is_written = write_rows(writing, shape, rows.data(), quality);
  jpeg_destroy_compress(&writing.info);
  const std::unique_ptr<unsigned char, void (*)(void*)> owner(writing.bytes, std::free);
  if (!is_written) throw InternalError(std::string("libjpeg cannot encode: ") + writing.message);
  return std::string(reinterpret_cast<const char*>(writing.bytes), writing.size);
}

}  // namespace tandem::data
