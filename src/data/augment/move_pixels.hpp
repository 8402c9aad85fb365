// Crops by shifts and flips an image, and replaces each byte by a table's value. Transform uses it,
// and so do the steps on bytes before it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tandem/data/augment.hpp"

namespace tandem::data {

// `image`: planar bytes; `table_of(channel)`: 256 values; `out`: shape.pixels() values in `layout`.
template <typename Value, typename TableOf>
void move_pixels(const std::uint8_t* image, ImageShape shape, const Augmentation& augmentation,
                 Layout layout, const TableOf& table_of, Value* out) {
  const int height = shape.height;
  const int width = shape.width;
  // Pixels in a row, and the distance between its pixels in `out`.
  const std::ptrdiff_t line = width;
  const std::ptrdiff_t step = layout == Layout::kPlanar ? 1 : shape.channels;
  const bool reflects = augmentation.border == Border::kReflected;
  // Output columns [first, last) come from the image, the others are outside of it.
  const int first = std::clamp(-augmentation.shift_x, 0, width);
  const int last = std::clamp(width - augmentation.shift_x, first, width);
  for (int channel = 0; channel < shape.channels; ++channel) {
    const Value* const value_of = table_of(channel);
    for (int y = 0; y < height; ++y) {
      const int row = channel * height + y;
      Value* to = layout == Layout::kPlanar ? out + row * line : out + y * line * step + channel;
      const int shifted_y = y + augmentation.shift_y;
      const int source_y = reflects ? reflected(shifted_y, height) : shifted_y;
      const bool black_row = source_y < 0 || source_y >= height;
      const std::uint8_t* from = image + (channel * height + (black_row ? 0 : source_y)) * line;
      const int begin = black_row ? width : first;
      const int end = black_row ? width : last;
      const auto outside = [&](int x) {
        return value_of[reflects ? from[reflected(x + augmentation.shift_x, width)] : 0];
      };
      // A flip writes the cropped row from its right end.
      const std::ptrdiff_t direction = augmentation.flip ? -step : step;
      Value* at = augmentation.flip ? to + (width - 1) * step : to;
      for (int x = 0; x < begin; ++x) at[x * direction] = outside(x);
      for (int x = begin; x < end; ++x)
        at[x * direction] = value_of[from[x + augmentation.shift_x]];
      for (int x = end; x < width; ++x) at[x * direction] = outside(x);
    }
  }
}

}  // namespace tandem::data
