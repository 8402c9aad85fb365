// Loops over the pixels of a color picture, for picture_ops.cpp. Floats are those of torchvision on
// uint8 tensors: values from 0 to 255, results truncated to whole numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tandem::data {

// A result within the range of bytes, without its fraction.
inline std::uint8_t cut_to_byte(float value) {
  return static_cast<std::uint8_t>(static_cast<int>(std::min(std::max(value, 0.0F), 255.0F)));
}

// Three planes of `count` bytes.
struct ColorPlanes {
  std::uint8_t* red;
  std::uint8_t* green;
  std::uint8_t* blue;
  std::size_t count;
};

// The sum of all gray values, each without its fraction.
std::uint64_t sum_of_gray(const ColorPlanes& planes);
// Mixes each pixel with its gray value: value * factor + gray * (1 - factor).
void scale_saturation(const ColorPlanes& planes, float factor);
// Turns the hue by a share of the color circle in [-0.5, 0.5].
void turn_hue(const ColorPlanes& planes, float share);

}  // namespace tandem::data
