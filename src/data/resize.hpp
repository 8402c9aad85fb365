// Resizes a picture as Pillow's Image.resize(…, BILINEAR) does, bit for bit. Throws std::bad_alloc.
//
// A pixel of the result is a mean of the pixels around its position, weighted by a triangle. For
// enlargement the triangle is two pixels wide, which is bilinear interpolation; for reduction it is
// wider by the scale, so that every pixel counts and no aliasing appears.
#pragma once

#include "tandem/data/image_file.hpp"

namespace tandem::data {

Picture resize(Picture picture, int height, int width);

}  // namespace tandem::data
