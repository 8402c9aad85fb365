#include "resize_region.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::data {
namespace {

// Floats of this size are whole numbers; adding it rounds half to even.
constexpr float kWhole = 12582912.0F;  // 1.5 * 2^23

void to_floats(const std::uint8_t* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

void gather(const float* row, const int* first, const float* weights, std::size_t count,
            float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = row[first[i]] * weights[i];
}

void gather_more(const float* row, const int* first, const float* weights, std::size_t count,
                 float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] += row[first[i]] * weights[i];
}

void scale_row(const float* row, float weight, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = row[i] * weight;
}

void add_row(const float* row, float weight, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] += row[i] * weight;
}

// Weights add up to 1, so values are in the range of bytes, except for an error that rounding
// removes.
void to_bytes(const float* row, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::uint8_t>(static_cast<int>((row[i] + kWhole) - kWhole));
  }
}

}  // namespace

// compute_indices_weights_aa() of PyTorch's aten/src/ATen/native/cpu/UpSampleKernel.cpp.
void RegionResizer::Axis::set(int from, int to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  const float support = std::max(scale, 1.0F);
  const auto center = [scale](int i) { return scale * (static_cast<float>(i) + 0.5F); };
  const auto begin = [&](int i) {
    return std::max(static_cast<int>(center(i) - support + 0.5F), 0);
  };
  const auto end = [&](int i) {
    return std::min(static_cast<int>(center(i) + support + 0.5F), from);
  };
  size = to;
  taps = 1;
  for (int i = 0; i < to; ++i) taps = std::max(taps, end(i) - begin(i));
  const auto count = static_cast<std::size_t>(to);
  first.resize(count);
  weights.assign(count * static_cast<std::size_t>(taps), 0);
  for (int i = 0; i < to; ++i) {
    const auto place = static_cast<std::size_t>(i);
    // Near the end, the window begins earlier, so that all taps lie inside. The added taps have
    // weight 0.
    first[place] = std::min(begin(i), from - taps);
    const auto weight_at = [&](int at) -> float& {
      return weights[static_cast<std::size_t>(at - first[place]) * count + place];
    };
    float sum = 0;
    for (int at = begin(i); at < end(i); ++at) {
      const float distance = std::fabs((static_cast<float>(at) - center(i) + 0.5F) / support);
      weight_at(at) = std::max(1 - distance, 0.0F);
      sum += weight_at(at);
    }
    for (int at = begin(i); at < end(i); ++at) weight_at(at) /= sum;
  }
}

void RegionResizer::resize_rows(const std::uint8_t* plane, int stride, const Region& region) {
  const auto count = static_cast<std::size_t>(columns_.size);
  for (int y = 0; y < region.height; ++y) {
    const std::uint8_t* from =
        plane + static_cast<std::ptrdiff_t>(region.top + y) * stride + region.left;
    float* const out = wide_.data() + static_cast<std::size_t>(y) * count;
    if (region.width == columns_.size) {
      to_floats(from, count, out);
      continue;
    }
    to_floats(from, static_cast<std::size_t>(region.width), row_.data());
    gather(row_.data(), columns_.first.data(), columns_.weights.data(), count, out);
    for (int tap = 1; tap < columns_.taps; ++tap) {
      gather_more(row_.data() + tap, columns_.first.data(),
                  columns_.weights.data() + static_cast<std::size_t>(tap) * count, count, out);
    }
  }
}

void RegionResizer::resize(const std::uint8_t* image, ImageShape from, const Region& region,
                           ImageShape to, std::uint8_t* out) {
  rows_.set(region.height, to.height);
  columns_.set(region.width, to.width);
  const auto width = static_cast<std::size_t>(to.width);
  const auto height = static_cast<std::size_t>(to.height);
  row_.resize(static_cast<std::size_t>(region.width));
  wide_.resize(static_cast<std::size_t>(region.height) * width);
  sum_.resize(width);
  for (int channel = 0; channel < to.channels; ++channel) {
    resize_rows(image + static_cast<std::size_t>(channel) * from.plane(), from.width, region);
    for (std::size_t y = 0; y < height; ++y) {
      const float* const first = wide_.data() + static_cast<std::size_t>(rows_.first[y]) * width;
      scale_row(first, rows_.weights[y], width, sum_.data());
      for (int tap = 1; tap < rows_.taps; ++tap) {
        const std::size_t row = static_cast<std::size_t>(tap);
        add_row(first + row * width, rows_.weights[row * height + y], width, sum_.data());
      }
      to_bytes(sum_.data(), width, out);
      out += width;
    }
  }
}

}  // namespace tandem::data
