#include "tandem/kernels/convolution.hpp"

#include <algorithm>
#include <utility>

#include "layer.hpp"
#include "tiles.hpp"

namespace tandem::kernels {
namespace {

// Forwards, or backwards to the images.
struct Direction {
  const Images &from, &to;
  std::size_t TapOverlap::*source;  // of an overlap, the line of `from`
  std::size_t TapOverlap::*result;
  // Whether the filter matrices have channels as rows and filters as columns.
  bool has_filters_as_columns;
};

// Each pixel of `to` is the sum of the pixels of `from` that it is in overlap with, times filters.
class TiledConv {
 public:
  TiledConv(const Layer& layer, const TileFunctions& tiles, const ForEach& for_each,
            const Direction& direction)
      : layer_(layer),
        tiles_(tiles),
        for_each_(for_each),
        direction_(direction),
        from_(direction.from),
        to_(direction.to),
        rows_(row_overlaps(layer, direction.result)),
        columns_(column_overlaps(layer, direction.result)),
        filters_(to_.tiles() * layer.taps() * from_.tiles() * kTileSize),
        packed_(from_.pixels() * from_.tiles() * kTileSize) {}

  void run(const std::uint16_t* in, const float* filters, const float* bias, std::uint16_t* out) {
    for_each_(to_.tiles() * layer_.taps(), [&](std::size_t task) { pack_filters(filters, task); });
    for (std::size_t group = 0; group < tiles_for(layer_.images); ++group) {
      const std::size_t images = in_tile(layer_.images, group);
      const std::uint16_t* group_in = in + group * kTileSide * from_.image_stride;
      std::uint16_t* group_out = out + group * kTileSide * to_.image_stride;
      for_each_(from_.pixels(), [&](std::size_t pixel) { pack_pixel(group_in, images, pixel); });
      for_each_(to_.tiles() * to_.height,
                [&](std::size_t task) { multiply(task, images, bias, group_out); });
    }
  }

 private:
  // Tile of results, tap, tile of what is multiplied.
  void pack_filters(const float* filters, std::size_t task) const {
    const std::size_t to_tile = task / layer_.taps(), tap = task % layer_.taps();
    const auto pack =
        direction_.has_filters_as_columns ? tiles_.pack_transposed_right : tiles_.pack_right;
    for (std::size_t from_tile = 0; from_tile < from_.tiles(); ++from_tile) {
      const std::size_t filter = direction_.has_filters_as_columns ? to_tile : from_tile;
      const std::size_t channel = direction_.has_filters_as_columns ? from_tile : to_tile;
      const std::size_t begin = (filter * kTileSide * layer_.taps() + tap) * layer_.in.channels;
      const std::size_t rows = in_tile(layer_.out.channels, filter);
      const std::size_t columns = in_tile(layer_.in.channels, channel);
      std::uint16_t rounded[kTileSize];
      tiles_.round(filters + begin + channel * kTileSide, layer_.taps() * layer_.in.channels,
                   {rounded, kTileSide, rows, columns});
      pack({rounded, kTileSide, rows, columns},
           filters_.data() + (task * from_.tiles() + from_tile) * kTileSize);
    }
  }

  void pack_pixel(const std::uint16_t* in, std::size_t images, std::size_t pixel) const {
    const std::uint16_t* begin =
        in + pixel / from_.width * from_.row_stride + pixel % from_.width * from_.pixel_stride;
    for (std::size_t tile = 0; tile < from_.tiles(); ++tile) {
      tiles_.pack_left(
          {begin + tile * kTileSide, from_.image_stride, images, in_tile(from_.channels, tile)},
          packed_.data() + (pixel * from_.tiles() + tile) * kTileSize);
    }
  }

  // 32 channels of results, their row, of 32 images.
  void multiply(std::size_t task, std::size_t images, const float* bias, std::uint16_t* out) const {
    const std::size_t to_tile = task / to_.height, row = task % to_.height;
    const TileScope scope(tiles_);
    const std::uint16_t* filters =
        filters_.data() + to_tile * layer_.taps() * from_.tiles() * kTileSize;
    std::vector<TileProduct> products;
    alignas(64) float start[kTileSize] = {};
    alignas(64) float sums[kTileSize];
    for (std::size_t image = 0; bias && image < kTileSide; ++image) {
      std::copy_n(bias + to_tile * kTileSide, in_tile(to_.channels, to_tile),
                  start + image * kTileSide);
    }
    for (std::size_t column = 0; column < to_.width; ++column) {
      products.clear();
      for (const TapOverlap& y : rows_[row]) {
        for (const TapOverlap& x : columns_[column]) {
          const std::size_t pixel = y.*direction_.source * from_.width + x.*direction_.source;
          const std::size_t tap = y.tap * layer_.filter_columns + x.tap;
          for (std::size_t tile = 0; tile < from_.tiles(); ++tile) {
            products.push_back({packed_.data() + (pixel * from_.tiles() + tile) * kTileSize,
                                filters + (tap * from_.tiles() + tile) * kTileSize});
          }
        }
      }
      tiles_.multiply(products.data(), products.size(), start, sums);
      tiles_.round(sums, kTileSide,
                   {out + row * to_.row_stride + column * to_.pixel_stride + to_tile * kTileSide,
                    to_.image_stride, images, in_tile(to_.channels, to_tile)});
    }
  }

  const Layer& layer_;
  const TileFunctions& tiles_;
  const ForEach& for_each_;
  const Direction& direction_;
  const Images &from_, &to_;
  const std::vector<std::vector<TapOverlap>> rows_, columns_;  // by what results
  const AlignedArray<std::uint16_t> filters_;
  const AlignedArray<std::uint16_t> packed_;  // of 32 images: pixel, tile of channels
};

}  // namespace

bool folds(const ConvolutionSizes& sizes) {
  return sizes.side > 1 && sizes.side * sizes.channels <= kTileSide && sizes.stride == 1 &&
         sizes.padding == 0;
}

bool has_amx() { return amx_tiles() != nullptr; }

bool has_fast_bf16() {
#if defined(__x86_64__)
  return has_amx() || (__builtin_cpu_supports("avx512bf16") > 0 && !__builtin_cpu_is("intel"));
#else
  return true;
#endif
}

Convolution::Convolution(const ConvolutionSizes& sizes, bool with_amx, ForEach for_each)
    : sizes_(sizes),
      tiles_(with_amx ? *amx_tiles() : portable_tiles()),
      for_each_(std::move(for_each)) {}

void Convolution::forward(const std::uint16_t* images, const float* filters, const float* bias,
                          std::uint16_t* out) const {
  const Layer layer = folded(sizes_);
  const Direction direction{layer.in, layer.out, &TapOverlap::in, &TapOverlap::out, true};
  TiledConv(layer, tiles_, for_each_, direction).run(images, filters, bias, out);
}

void Convolution::image_gradient(const std::uint16_t* gradient, const float* filters,
                                 std::uint16_t* out) const {
  const Layer layer(sizes_);
  const Direction direction{layer.out, layer.in, &TapOverlap::out, &TapOverlap::in, false};
  TiledConv(layer, tiles_, for_each_, direction).run(gradient, filters, nullptr, out);
}

}  // namespace tandem::kernels
