#include "resize.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tandem::data {
namespace {

// Weights are integers of so many binary digits, as in Pillow's src/libImaging/Resample.c (HPND
// licence), whose roundings these are: a sum of weighted bytes stays within 31 bits.
constexpr int kWeightBits = 32 - 8 - 2;

// The pixels of a row or column that make one pixel of the result.
struct Window {
  int first = 0;
  std::vector<std::int32_t> weights;
};

int round_half_up(double value) { return static_cast<int>(std::floor(value + 0.5)); }

std::vector<Window> make_windows(int from, int to) {
  const double scale = static_cast<double>(from) / to;
  const double half_width = std::max(scale, 1.0);
  std::vector<Window> windows(static_cast<std::size_t>(to));
  std::vector<double> weights;
  for (int i = 0; i < to; ++i) {
    Window& window = windows[static_cast<std::size_t>(i)];
    const double center = (i + 0.5) * scale;
    window.first = std::max(round_half_up(center - half_width), 0);
    const int end = std::min(round_half_up(center + half_width), from);
    weights.clear();
    double sum = 0;
    for (int at = window.first; at < end; ++at) {
      const double distance = std::fabs((at - center + 0.5) * (1 / half_width));
      weights.push_back(distance < 1 ? 1 - distance : 0);
      sum += weights.back();
    }
    for (const double weight : weights) {
      window.weights.push_back(round_half_up(weight / sum * (std::int32_t{1} << kWeightBits)));
    }
  }
  return windows;
}

// Of values `stride` apart.
std::uint8_t weighted(const std::uint8_t* values, std::size_t stride, const Window& window) {
  std::int32_t sum = 1 << (kWeightBits - 1);
  for (const std::int32_t weight : window.weights) {
    sum += weight * *values;
    values += stride;
  }
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

Picture resize_rows(const Picture& picture, int width) {
  const auto channels = static_cast<std::size_t>(picture.channels);
  const std::size_t row = static_cast<std::size_t>(picture.width) * channels;
  Picture out{picture.channels, picture.height, width, {}};
  out.values.resize(static_cast<std::size_t>(out.height) * static_cast<std::size_t>(width) *
                    channels);
  const std::vector<Window> windows = make_windows(picture.width, width);
  std::uint8_t* to = out.values.data();
  for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height); ++y) {
    const std::uint8_t* from = picture.values.data() + y * row;
    for (const Window& window : windows) {
      const std::uint8_t* first = from + static_cast<std::size_t>(window.first) * channels;
      for (std::size_t c = 0; c < channels; ++c) *to++ = weighted(first + c, channels, window);
    }
  }
  return out;
}

Picture resize_columns(const Picture& picture, int height) {
  const std::size_t row =
      static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.channels);
  Picture out{picture.channels, height, picture.width, {}};
  out.values.resize(static_cast<std::size_t>(height) * row);
  std::uint8_t* to = out.values.data();
  for (const Window& window : make_windows(picture.height, height)) {
    const std::uint8_t* from = picture.values.data() + static_cast<std::size_t>(window.first) * row;
    for (std::size_t i = 0; i < row; ++i) *to++ = weighted(from + i, row, window);
  }
  return out;
}

}  // namespace

Picture resize(Picture picture, int height, int width) {
  if (width != picture.width) picture = resize_rows(picture, width);
  if (height != picture.height) picture = resize_columns(picture, height);
  return picture;
}

}  // namespace tandem::data
