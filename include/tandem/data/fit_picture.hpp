// What: makes a picture of any size and kind an image of a data set. Owns: nothing. Threads: any.
// Throws: UsageError for a number of channels that no picture has; DataError from fit_file().
//
// In this order: transparency becomes white, colours become grey or grey becomes colour where the
// data set asks for the other, and the whole picture is brought to the wanted height and width,
// whatever its own proportions. For pictures without transparency the result is that of Pillow's
// Image.open(FILE).convert("RGB" or "L").resize((WIDTH, HEIGHT), Image.BILINEAR), bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/data/image_file.hpp"
#include "tandem/data/image_shape.hpp"
#include "tandem/data/memory_budget.hpp"

namespace tandem::data {

// UsageError unless `channels` is 1 or 3.
void require_picture_channels(int channels);

// Writes shape.pixels() bytes in CHW order.
void fit_picture(Picture picture, ImageShape shape, std::uint8_t* image);

// For pictures that are being decoded at the same time.
constexpr std::uint64_t kMemoryForPictures = std::uint64_t{1} << 30;
// The same of the bytes of a file, as decode_picture() takes them, once `budget` has room for the
// picture.
void fit_file(std::string_view bytes, const std::string& where, ImageShape shape,
              MemoryBudget& budget, std::uint8_t* image);

}  // namespace tandem::data
