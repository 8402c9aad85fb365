// PNG through libpng.

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "data/files/byte_stream.hpp"
#include "picture_decoder.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

constexpr png_alloc_size_t kMaxPngChunkBytes = 1 << 20;  // libpng's memory for one chunk

// The data behind libpng's user pointer. Plain values, because its functions leave by longjmp.
struct Reading {
  const unsigned char* bytes = nullptr;
  std::size_t left = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  int passes = 1;
  bool out_of_memory = false;
  std::jmp_buf on_error{};
  char message[160] = "";
};

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  auto* reading = static_cast<Reading*>(png_get_error_ptr(png));
  std::snprintf(reading->message, sizeof reading->message, "%s", message);
  std::longjmp(reading->on_error, 1);
}

png_voidp allocate(png_structp png, png_alloc_size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) static_cast<Reading*>(png_get_mem_ptr(png))->out_of_memory = true;
  return memory;
}

void release(png_structp /*png*/, png_voidp memory) { std::free(memory); }

void ignore_warning(png_structp /*png*/, png_const_charp /*message*/) {}

void take_bytes(png_structp png, png_bytep data, png_size_t count) {
  auto* reading = static_cast<Reading*>(png_get_io_ptr(png));
  if (count > reading->left) png_error(png, "the file ends too early");
  std::memcpy(data, reading->bytes, count);
  reading->bytes += count;
  reading->left -= count;
}

// Asks for 8 bits a channel, no palette, and transparency as alpha.
bool read_header(Reading& reading) {
  if (setjmp(reading.on_error) != 0) return false;
  reading.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &reading, fail, ignore_warning,
                                         &reading, allocate, release);
  if (reading.png != nullptr) reading.info = png_create_info_struct(reading.png);
  if (reading.info == nullptr) {
    std::snprintf(reading.message, sizeof reading.message, "libpng could not be started");
    return false;
  }
  // A wrong transparency or palette changes pixels as wrong pixels do.
  png_set_crc_action(reading.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_set_benign_errors(reading.png, 0);
  png_set_user_limits(reading.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // ours come later
  png_set_chunk_malloc_max(reading.png, kMaxPngChunkBytes);
  // Every chunk that pixels do not need is skipped, whatever is in it.
  png_set_keep_unknown_chunks(reading.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_read_fn(reading.png, &reading, take_bytes);
  png_read_info(reading.png, reading.info);
  png_set_expand(reading.png);
  png_set_strip_16(reading.png);
  reading.passes = png_set_interlace_handling(reading.png);
  return true;
}

// The rows go to `values`, whose size fits what start_rows() found.
bool read_rows(Reading& reading, std::uint8_t* values, std::size_t row_bytes, png_uint_32 height) {
  if (setjmp(reading.on_error) != 0) return false;
  for (int pass = 0; pass < reading.passes; ++pass) {
    for (png_uint_32 row = 0; row < height; ++row) {
      png_read_row(reading.png, values + row * row_bytes, nullptr);
    }
  }
  png_read_end(reading.png, nullptr);
  return true;
}

// Fixes the form of the rows that libpng gives.
bool start_rows(Reading& reading) {
  if (setjmp(reading.on_error) != 0) return false;
  png_read_update_info(reading.png, reading.info);
  return true;
}

class PngDecoder : public PictureDecoder {
 public:
  PngDecoder(std::string_view bytes, std::string where)
      : where_(std::move(where)), file_bytes_(bytes.size()) {
    reading_.bytes = reinterpret_cast<const unsigned char*>(bytes.data());
    reading_.left = bytes.size();
    if (!read_header(reading_)) {
      destroy();
      fail();
    }
  }
  ~PngDecoder() override { destroy(); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  PictureExtent extent() const override {
    return {static_cast<int>(png_get_image_height(reading_.png, reading_.info)),
            static_cast<int>(png_get_image_width(reading_.png, reading_.info)),
            (png_get_color_type(reading_.png, reading_.info) & PNG_COLOR_MASK_COLOR) != 0};
  }

  // At most four values of a byte a pixel, and rows of libpng's own.
  std::uint64_t memory() override {
    return (static_cast<std::uint64_t>(extent().height) + kRowsOfLibpng) *
           static_cast<std::uint64_t>(extent().width) * 4;
  }

  Picture decode() override {
    require_possible();
    if (!start_rows(reading_)) fail();
    const PictureExtent found = extent();
    Picture picture{png_get_channels(reading_.png, reading_.info), found.height, found.width, {}};
    const std::size_t row_bytes =
        static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.channels);
    if (png_get_rowbytes(reading_.png, reading_.info) != row_bytes) {
      throw_damaged(where_, "PNG", "rows of an unknown form");
    }
    picture.values.resize(row_bytes * static_cast<std::size_t>(picture.height));
    if (!read_rows(reading_, picture.values.data(), row_bytes,
                   static_cast<png_uint_32>(picture.height))) {
      fail();
    }
    return picture;
  }

 private:
  static constexpr std::uint64_t kRowsOfLibpng = 4;

  // Every row has a byte for its filter. Interlacing takes more.
  void require_possible() const {
    const std::uint64_t row = png_get_rowbytes(reading_.png, reading_.info) + 1;
    if (row * static_cast<std::uint64_t>(extent().height) <= kMaxInflated * file_bytes_) return;
    throw_damaged(where_, "PNG", "so few bytes cannot hold the pixels that it claims");
  }
  [[noreturn]] void fail() const {
    if (reading_.out_of_memory) throw_out_of_memory(where_);
    throw_damaged(where_, "PNG", reading_.message);
  }
  void destroy() {
    if (reading_.png != nullptr) png_destroy_read_struct(&reading_.png, &reading_.info, nullptr);
  }

  Reading reading_;
  std::string where_;
  std::uint64_t file_bytes_;
};

}  // namespace

std::unique_ptr<PictureDecoder> open_png(std::string_view bytes, const std::string& where) {
  return std::make_unique<PngDecoder>(bytes, where);
}

bool has_png_form(const ImageShape& shape) { return shape.channels == 1 || shape.channels == 3; }

std::string encode_png(const ImageShape& shape, Span<const std::uint8_t> pixels) {
  if (!has_png_form(shape) || pixels.size() != shape.pixels()) {
    throw InternalError("an image of " + shape.text() + " cannot be written as PNG");
  }
  const auto channels = static_cast<std::size_t>(shape.channels);
  std::string values;  // the channels of each pixel together
  for (std::size_t at = 0; at < shape.plane(); ++at) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      values += static_cast<char>(pixels[channel * shape.plane() + at]);
    }
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(shape.width);
  image.height = static_cast<png_uint_32>(shape.height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = file.size();
  if (png_image_write_to_memory(&image, file.data(), &size, 0, values.data(), 0, nullptr) == 0) {
    throw InternalError(std::string("libpng could not write an image: ") + image.message);
  }
  file.resize(size);
  return file;
}

}  // namespace tandem::data
