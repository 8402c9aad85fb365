#include "resize_region.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tandem::data {
namespace {

// Floats of this size are whole numbers, so adding it rounds half to even. The last eight bits of
// the sum are the rounded byte.
constexpr float kWhole = 12582912.0F;  // 1.5 * 2^23

// The channels of a pixel, as vectors, because GCC does not vectorize such short loops.
constexpr std::size_t kLanes = RegionResizer::kMaxChannels;
typedef float Pixel __attribute__((vector_size(4 * kLanes)));
typedef std::int32_t Words __attribute__((vector_size(4 * kLanes)));

Pixel load(const float* from) {
  Pixel pixel;
  std::memcpy(&pixel, from, sizeof pixel);
  return pixel;
}

void store(const Pixel& pixel, float* to) { std::memcpy(to, &pixel, sizeof pixel); }

void widen_each(const std::uint8_t* row, RegionResizer::Steps steps, int channels, int count,
                float* to) {
  for (int x = 0; x < count; ++x) {
    for (int c = 0; c < channels; ++c) {
      to[c] = static_cast<float>(row[x * steps.pixel + c * steps.channel]);
    }
    to += kLanes;
  }
}

// For pixels of three bytes. It reads four, so widen_each() converts the last pixel.
void widen_colors(const std::uint8_t* row, int count, float* to) {
  constexpr RegionResizer::Steps kBytes{3, 1};
  const int before = std::max(count - 1, 0);
  // Each byte stays at its place in the word, and the floats are multiples of it, which is faster
  // than four conversions. All numbers are exact.
  constexpr Words kPlaces{0xFF, 0xFF00, 0xFF0000, 0};
  constexpr Pixel kUnits{1, 1.0F / 0x100, 1.0F / 0x10000, 0};
  for (int x = 0; x < before; ++x) {
    std::int32_t bytes = 0;
    std::memcpy(&bytes, row + x * kBytes.pixel, sizeof bytes);
    const Words each = Words{bytes, bytes, bytes, bytes} & kPlaces;
    store(__builtin_convertvector(each, Pixel) * kUnits, to + static_cast<std::size_t>(x) * kLanes);
  }
  widen_each(row + before * kBytes.pixel, kBytes, 3, count - before,
             to + static_cast<std::size_t>(before) * kLanes);
}

}  // namespace

// compute_indices_weights_aa() of PyTorch's aten/src/ATen/native/cpu/UpSampleKernel.cpp.
void RegionResizer::Axis::set(const Side& from, int to) {
  const float scale = from.length / static_cast<float>(to);
  const float support = std::max(scale, 1.0F);
  const auto center = [&](int i) { return from.offset + scale * (static_cast<float>(i) + 0.5F); };
  const auto begin = [&](int i) {
    return std::max(static_cast<int>(std::floor(center(i) - support + 0.5F)), 0);
  };
  const auto end = [&](int i) {
    return std::min(static_cast<int>(std::floor(center(i) + support + 0.5F)), from.count);
  };
  taps = 1;
  for (int i = 0; i < to; ++i) taps = std::max(taps, end(i) - begin(i));
  const auto count = static_cast<std::size_t>(to);
  first.resize(count);
  weights.assign(count * static_cast<std::size_t>(taps), 0);
  for (int i = 0; i < to; ++i) {
    const auto place = static_cast<std::size_t>(i);
    // Near the end, the window begins earlier, so that all taps lie inside. The added taps have
    // weight 0.
    first[place] = std::min(begin(i), from.count - taps);
    const auto weight_at = [&](int at) -> float& {
      return weights[static_cast<std::size_t>(i * taps + at - first[place])];
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

void RegionResizer::begin(const Side& rows, const Side& columns, ImageShape to, std::uint8_t* out) {
  to_ = to;
  out_ = out;
  taken_ = 0;
  done_ = 0;
  rows_.set(rows, to.height);
  columns_.set(columns, to.width);
  row_.assign(static_cast<std::size_t>(columns.count) * kLanes, 0);
  wide_.resize(static_cast<std::size_t>(rows_.taps) * static_cast<std::size_t>(to.width) * kLanes);
}

void RegionResizer::add_row(const std::uint8_t* row, Steps steps) {
  const auto count = static_cast<int>(row_.size() / kLanes);
  if (to_.channels == 3 && steps.pixel == 3 && steps.channel == 1) {
    widen_colors(row, count, row_.data());
  } else {
    widen_each(row, steps, to_.channels, count, row_.data());
  }
  const auto width = static_cast<std::size_t>(to_.width);
  const auto taps = static_cast<std::size_t>(columns_.taps);
  float* out = wide_.data() + static_cast<std::size_t>(taken_ % rows_.taps) * width * kLanes;
  const float* weight = columns_.weights.data();
  const float* const pixels = row_.data();
  const int* const first = columns_.first.data();
  for (std::size_t x = 0; x < width; ++x) {
    const float* from = pixels + static_cast<std::size_t>(first[x]) * kLanes;
    Pixel sum = load(from) * weight[0];
    for (std::size_t tap = 1; tap < taps; ++tap) sum += load(from + tap * kLanes) * weight[tap];
    store(sum, out);
    out += kLanes;
    weight += taps;
  }
  ++taken_;
  while (done_ < to_.height &&
         rows_.first[static_cast<std::size_t>(done_)] + rows_.taps <= taken_) {
    finish_row(done_++);
  }
}

// Weights add up to 1, so values are in the range of bytes, except for an error that rounding
// removes.
void RegionResizer::finish_row(int place) {
  const auto width = static_cast<std::size_t>(to_.width);
  const auto taps = static_cast<std::size_t>(rows_.taps);
  const auto first = static_cast<std::size_t>(rows_.first[static_cast<std::size_t>(place)]);
  const float* const weights = rows_.weights.data() + static_cast<std::size_t>(place) * taps;
  window_.resize(taps);
  for (std::size_t tap = 0; tap < taps; ++tap) {
    window_[tap] = wide_.data() + (first + tap) % taps * width * kLanes;
  }
  const float* const* const window = window_.data();
  const int channels = to_.channels;
  const std::size_t plane = to_.plane();
  std::uint8_t* out = out_ + static_cast<std::size_t>(place) * width;
  for (std::size_t x = 0; x < width; ++x, ++out) {
    Pixel sum = load(window[0] + x * kLanes) * weights[0];
    for (std::size_t tap = 1; tap < taps; ++tap) {
      sum += load(window[tap] + x * kLanes) * weights[tap];
    }
    sum += kWhole;
    std::uint32_t bits[kLanes];
    std::memcpy(bits, &sum, sizeof bits);
    for (int c = 0; c < channels; ++c) {
      out[static_cast<std::size_t>(c) * plane] = static_cast<std::uint8_t>(bits[c]);
    }
  }
}

void RegionResizer::resize(const std::uint8_t* image, ImageShape from, const Region& region,
                           ImageShape to, std::uint8_t* out) {
  const auto side = [](int length) { return Side{length, 0, static_cast<float>(length)}; };
  const Steps steps{1, static_cast<std::ptrdiff_t>(from.plane())};
  for (int channel = 0; channel < to.channels; channel += kMaxChannels) {
    const int some = std::min(to.channels - channel, kMaxChannels);
    const auto done = static_cast<std::size_t>(channel);
    begin(side(region.height), side(region.width), {some, to.height, to.width},
          out + done * to.plane());
    const std::uint8_t* row = image + done * from.plane() + region.left +
                              static_cast<std::ptrdiff_t>(region.top) * from.width;
    for (int y = 0; y < region.height; ++y) {
      add_row(row, steps);
      row += from.width;
    }
  }
}

}  // namespace tandem::data
