// The memory layout of a convolution's arrays, and the overlaps of images, filters and results line
// by line. Throws std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/kernels/convolution.hpp"
#include "tiles.hpp"

namespace tandem::kernels {

// An uninitialized array that begins at a cache line. Throws std::bad_alloc.
template <class Number>
class AlignedArray {
 public:
  explicit AlignedArray(std::size_t size)
      : bytes_(new unsigned char[size * sizeof(Number) + kLine]) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.get());
    numbers_ = reinterpret_cast<Number*>(bytes_.get() + (kLine - address % kLine) % kLine);
  }
  Number* data() const { return numbers_; }

 private:
  // Aligned by hand, because glibc's aligned allocation takes many times longer than its malloc.
  static constexpr std::size_t kLine = 64;
  std::unique_ptr<unsigned char[]> bytes_;
  Number* numbers_;
};

// Images or results. From one to the next, in numbers: pixel, row, image.
struct Images {
  Images(std::size_t rows, std::size_t columns, std::size_t numbers)
      : height(rows),
        width(columns),
        channels(numbers),
        pixel_stride(numbers),
        row_stride(columns * numbers),
        image_stride(rows * columns * numbers) {}
  std::size_t pixels() const { return height * width; }
  std::size_t tiles() const { return tiles_for(channels); }

  std::size_t height, width, channels;
  std::size_t pixel_stride, row_stride, image_stride;
};

struct Layer {
  explicit Layer(const ConvolutionSizes& sizes)
      : images(sizes.images),
        in(sizes.height, sizes.width, sizes.channels),
        out(sizes.out_height(), sizes.out_width(), sizes.filters),
        filter_rows(sizes.side),
        filter_columns(sizes.side),
        stride(sizes.stride),
        padding(sizes.padding) {}
  std::size_t taps() const { return filter_rows * filter_columns; }

  std::size_t images;
  Images in, out;
  std::size_t filter_rows, filter_columns;
  std::size_t stride, padding;
};

// If a filter row fits into a tile, it is one tap: the channels of its columns are contiguous, in
// filters and in images, whose pixels then overlap. For read-only images.
inline Layer folded(const ConvolutionSizes& sizes) {
  Layer layer(sizes);
  if (!folds(sizes)) return layer;
  layer.in.channels = sizes.side * sizes.channels;
  layer.in.width = layer.out.width;
  layer.filter_columns = 1;
  return layer;
}

// Along one side: the filter's line `tap` lies on the image's line `in` for the result's line
// `out`.
struct TapOverlap {
  std::size_t tap = 0, in = 0, out = 0;
};
using TapOverlapGroups = std::vector<std::vector<TapOverlap>>;

// Groups with equal `by`: group k has those with value k. Overlaps with padding are omitted.
inline TapOverlapGroups overlaps(std::size_t taps, std::size_t stride, std::size_t padding,
                                 std::size_t in, std::size_t out, std::size_t TapOverlap::*by) {
  TapOverlapGroups groups(by == &TapOverlap::tap ? taps : by == &TapOverlap::in ? in : out);
  for (std::size_t line = 0; line < out; ++line) {
    for (std::size_t tap = 0; tap < taps; ++tap) {
      const std::size_t padded = line * stride + tap;
      if (padded < padding || padded - padding >= in) continue;
      const TapOverlap overlap{tap, padded - padding, line};
      groups[overlap.*by].push_back(overlap);
    }
  }
  return groups;
}
inline TapOverlapGroups row_overlaps(const Layer& layer, std::size_t TapOverlap::*by) {
  return overlaps(layer.filter_rows, layer.stride, layer.padding, layer.in.height, layer.out.height,
                  by);
}
inline TapOverlapGroups column_overlaps(const Layer& layer, std::size_t TapOverlap::*by) {
  return overlaps(layer.filter_columns, layer.stride, layer.padding, layer.in.width,
                  layer.out.width, by);
}

}  // namespace tandem::kernels
