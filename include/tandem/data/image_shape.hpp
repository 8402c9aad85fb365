// The extent of one image.
#pragma once

#include <cstddef>
#include <string>

namespace tandem::data {

struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;

  // Values, and bytes of uint8, of one image in CHW order.
  std::size_t pixels() const { return static_cast<std::size_t>(channels) * plane(); }
  // Values of one channel.
  std::size_t plane() const {
    return static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  }
  // "3x32x32"
  std::string text() const {
    return std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width);
  }
};

inline bool operator==(const ImageShape& a, const ImageShape& b) {
  return a.channels == b.channels && a.height == b.height && a.width == b.width;
}
inline bool operator!=(const ImageShape& a, const ImageShape& b) { return !(a == b); }

}  // namespace tandem::data
