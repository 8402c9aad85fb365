#include "tandem/data/png_encoder.hpp"

#include <png.h>

#include "tandem/core/error.hpp"

namespace tandem::data {

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
