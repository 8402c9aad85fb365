// Writes an image of a data set as a PNG file (RFC 2083, ISO/IEC 15948). Throws InternalError if
// libpng fails.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/core/span.hpp"
#include "tandem/data/image_shape.hpp"

namespace tandem::data {

// Whether a PNG has images of this kind: grey or red, green and blue.
bool has_png_form(const ImageShape& shape);

// The bytes of the file. `pixels`: one image in CHW order, of a shape that has_png_form().
std::string encode_png(const ImageShape& shape, Span<const std::uint8_t> pixels);

}  // namespace tandem::data
