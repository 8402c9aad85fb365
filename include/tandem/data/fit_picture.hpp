// Converts a picture of any size and kind to an image of a data set. Throws UsageError for an
// unsupported number of channels; fit_file() throws DataError.
//
// In this order: transparency becomes white, the picture becomes gray or RGB as the data set
// requires, and it is resized to the given height and width without keeping its aspect ratio. For
// pictures without transparency the result is that of Pillow's Image.open(FILE).convert("RGB" or
// "L").resize((WIDTH, HEIGHT), Image.BILINEAR), bit for bit.
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
