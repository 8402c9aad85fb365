#include "resize.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tandem::data {
namespace {

// Weights are integers of so many binary digits, as in Pillow's src/libImaging/Resample.c (HPND
// licence), whose roundings these are: a sum of weighted bytes stays within 31 bits.
constexpr int kWeightBits = 32 - 8 - 2;
constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

// The pixels of a row or column that make one pixel of the result.
struct Window {
  int first = 0;
  std::vector<std::int32_t> weights;

  std::size_t begin() const { return static_cast<std::size_t>(first); }
  std::size_t end() const { return begin() + weights.size(); }
};

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

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

// A row made `windows.size()` pixels wide.
void resize_row(const std::uint8_t* from, std::size_t channels, const std::vector<Window>& windows,
                std::uint8_t* to) {
  for (const Window& window : windows) {
    const std::uint8_t* first = from + static_cast<std::size_t>(window.first) * channels;
    for (std::size_t c = 0; c < channels; ++c) {
      std::int32_t sum = kHalf;
      const std::uint8_t* value = first + c;
      for (const std::int32_t weight : window.weights) {
        sum += weight * *value;
        value += channels;
      }
      *to++ = to_byte(sum);
    }
  }
}

}  // namespace

// Row by row, each added to those of the result that it is a part of: besides the result there is
// never more than a row and the sums, whatever the proportions of the picture.
Picture resize(Picture picture, int height, int width) {
  if (height == picture.height && width == picture.width) return picture;
  const auto channels = static_cast<std::size_t>(picture.channels);
  const std::size_t from_row = static_cast<std::size_t>(picture.width) * channels;
  const std::size_t to_row = static_cast<std::size_t>(width) * channels;
  const std::vector<Window> columns = make_windows(picture.width, width);
  const std::vector<Window> rows = make_windows(picture.height, height);
  std::vector<std::int32_t> sums(rows.size() * to_row, kHalf);
  std::vector<std::uint8_t> row(to_row);
  std::size_t first = 0;  // of the rows of the result that are not complete
  for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height); ++y) {
    const std::uint8_t* values = picture.values.data() + y * from_row;
    if (width != picture.width) {
      resize_row(values, channels, columns, row.data());
      values = row.data();
    }
    while (first < rows.size() && rows[first].end() <= y) ++first;
    for (std::size_t i = first; i < rows.size() && rows[i].begin() <= y; ++i) {
      if (y >= rows[i].end()) continue;
      const std::int32_t weight = rows[i].weights[y - rows[i].begin()];
      std::int32_t* sum = sums.data() + i * to_row;
      for (std::size_t x = 0; x < to_row; ++x) sum[x] += weight * values[x];
    }
  }
  Picture out{picture.channels, height, width, {}};
  out.values.resize(sums.size());
  std::transform(sums.begin(), sums.end(), out.values.begin(), to_byte);
  return out;
}

}  // namespace tandem::data
