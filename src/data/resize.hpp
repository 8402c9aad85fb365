// What: changes the size of a picture as Pillow's Image.resize(…, BILINEAR) does, bit for bit.
// Owns: nothing. Threads: any. Throws: nothing but std::bad_alloc.
//
// A pixel of the result is a mean of the pixels around its place, weighted by a triangle. Where the
// picture grows the triangle is two pixels wide, which is bilinear interpolation; where it shrinks
// the triangle is as much wider as the picture shrinks, so that every pixel counts and no pattern
// of its own appears.
#pragma once

#include "tandem/data/image_file.hpp"

namespace tandem::data {

Picture resize(Picture picture, int height, int width);

}  // namespace tandem::data
