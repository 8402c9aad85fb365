// The functions of a WinogradForm, for vectors, numbers in memory and points. winograd_vectors.hpp
// says how to include this.
#pragma once

#include "winograd_form.hpp"
#include "winograd_points.hpp"
#include "winograd_products.hpp"

namespace tandem::kernels {
namespace {

template <class IsaOfForm, class NumberOfForm, class PointsOfForm>
class WinogradLoops {
  using Isa = IsaOfForm;
  using Number = NumberOfForm;
  using Points = PointsOfForm;
  using Floats = typename Isa::Floats;
  using Operand = typename Isa::Operand;

  static constexpr std::size_t kLanes = Isa::kLanes, kDepth = Isa::kDepth;
  static constexpr std::size_t kSide = Points::kSide, kTile = Points::kTile;
  static constexpr std::size_t kPanel = kLanes * Isa::kPanelVectors;
  static constexpr std::size_t kTaps = 9;

 public:
  static constexpr WinogradForm form(std::string_view name) {
    return {name,
            sizeof(Number) == 4 ? ImageNumbers::kFp32 : ImageNumbers::kBfloat16,
            kTile,
            sizeof(Operand),
            kDepth,
            kPanel,
            pack_filters,
            pack_flipped_filters,
            read_rows,
            read_matrix<typename Points::Image>,
            read_matrix<typename Points::Gradient>,
            WinogradProducts<Isa>::multiply,
            write_tiles,
            write_filters};
  }

 private:
  static TANDEM_INLINE Floats load_up_to(const Number* from, std::size_t count) {
    return count >= kLanes ? Isa::load(from) : Isa::load_some(from, count);
  }
  template <class To>
  static TANDEM_INLINE void store_up_to(const Floats& values, std::size_t count, To* to) {
    if (count >= kLanes) {
      Isa::store(values, to);
    } else {
      Isa::store_some(values, count, to);
    }
  }

  // Pixels of a tile, of `Side` lines; those outside of the image are zeros.
  template <std::size_t Side>
  struct Pixels {
    Pixels(const TileSourceImages& from, std::size_t tile) {
      const TileGrid& grid = from.grid;
      const std::size_t tiles = grid.tile_rows * grid.tile_columns;
      const Number* image = static_cast<const Number*>(from.numbers) +
                            tile / tiles * grid.height * grid.width * grid.channels;
      // Above or left of the image the unsigned difference wraps to more than the image's size.
      const std::size_t top = tile % tiles / grid.tile_columns * kTile - grid.padding;
      const std::size_t left = tile % grid.tile_columns * kTile - grid.padding;
      for (std::size_t i = 0; i < Side; ++i) {
        for (std::size_t j = 0; j < Side; ++j) {
          const bool is_inside = top + i < grid.height && left + j < grid.width;
          of[i * Side + j] = is_inside ? image + ((top + i) * grid.width + left + j) * grid.channels
                                       : static_cast<const Number*>(from.zeros);
        }
      }
    }
    explicit Pixels(const void* zeros) {
      for (const Number*& pixel : of) pixel = static_cast<const Number*>(zeros);
    }
    const Number* of[Side * Side];
  };

  // Reads channels of pixels, beginning at `channel`: a whole vector, or `count` of them.
  template <std::size_t Side, bool IsWhole>
  struct PixelSource {
    TANDEM_INLINE Floats at(std::size_t row, std::size_t column) const {
      const Number* from = pixels.of[row * Side + column] + channel;
      return IsWhole ? Isa::load(from) : Isa::load_some(from, count);
    }
    const Pixels<Side>& pixels;
    std::size_t channel, count;
  };
  struct SumsSource {
    TANDEM_INLINE Floats at(std::size_t row, std::size_t column) const {
      return Isa::load(sums + (row * kSide + column) * point);
    }
    const float* sums;
    std::size_t point;
  };
  struct TapSource {
    TANDEM_INLINE Floats at(std::size_t row, std::size_t column) const {
      return taps[row * 3 + column];
    }
    const Floats* taps;
  };

  struct VectorSink {
    TANDEM_INLINE void put(std::size_t row, const Floats* vectors) const {
      TANDEM_UNROLL for (std::size_t j = 0; j < kSide; ++j) to[row * kSide + j] = vectors[j];
    }
    Floats* to;
  };
  struct RowSink {
    TANDEM_INLINE void put(std::size_t row, const Floats* vectors) const {
      TANDEM_UNROLL for (std::size_t j = 0; j < kSide; ++j) {
        Isa::store_row(vectors[j], to + (row * kSide + j) * point);
      }
    }
    Operand* to;
    std::size_t point;
  };
  struct TileSink {
    TANDEM_INLINE void put(std::size_t row, const Floats* vectors) const {
      if (row >= rows) return;
      TANDEM_UNROLL for (std::size_t j = 0; j < kTile; ++j) {
        if (j < columns) store_up_to(vectors[j], count, to + row * line + j * pixel);
      }
    }
    Number* to;
    std::size_t line, pixel, rows, columns, count;
  };
  struct FilterSink {
    TANDEM_INLINE void put(std::size_t row, const Floats* vectors) const {
      TANDEM_UNROLL for (std::size_t j = 0; j < 3; ++j) {
        float* const tap = to + (row * 3 + j) * channels;
        Floats before{};
        if (adds) before = count >= kLanes ? Isa::load(tap) : Isa::load_some(tap, count);
        store_up_to(before + vectors[j], count, tap);
      }
    }
    float* to;
    std::size_t channels, count;
    bool adds;
  };

  // Transforms `depth` rows of filters, whose taps are `taps`, and stores them side by side.
  static __attribute__((noinline)) void store_filters(const Floats (&taps)[kDepth][kTaps],
                                                      std::size_t point, Operand* to) {
    Floats out[kDepth][kSide * kSide];
    for (std::size_t d = 0; d < kDepth; ++d) {
      transform<typename Points::Filter, Floats>(TapSource{taps[d]}, VectorSink{out[d]});
    }
    for (std::size_t i = 0; i < kSide * kSide; ++i) {
      Isa::store_rows(out[0][i], out[kDepth - 1][i], to + i * point);
    }
  }

  // The channels of `kLanes` filters are transposed to filters by channel.
  static void pack_filters(const void* filters, const FilterShape& shape, std::size_t panel,
                           const OperandLayout& to, void* out) {
    for (std::size_t k = 0; k < kPanel; k += kLanes) {
      for (std::size_t c = 0; c < shape.channels; c += kLanes) {
        Floats taps[kTaps][kLanes];
        for (std::size_t tap = 0; tap < kTaps; ++tap) {
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const std::size_t filter = panel * kPanel + k + lane;
            const Number* from =
                static_cast<const Number*>(filters) + (filter * kTaps + tap) * shape.channels + c;
            taps[tap][lane] =
                filter < shape.filters ? load_up_to(from, shape.channels - c) : Floats{};
          }
          Isa::transpose(taps[tap]);
        }
        for (std::size_t lane = 0; lane < kLanes && c + lane < shape.channels; lane += kDepth) {
          Floats of_channels[kDepth][kTaps];
          for (std::size_t d = 0; d < kDepth; ++d) {
            for (std::size_t tap = 0; tap < kTaps; ++tap) of_channels[d][tap] = taps[tap][lane + d];
          }
          store_filters(of_channels, to.point,
                        static_cast<Operand*>(out) + panel * to.panel +
                            (c + lane) / kDepth * to.rows + k * kDepth);
        }
      }
    }
  }

  static void pack_flipped_filters(const void* filters, const FilterShape& shape, std::size_t panel,
                                   const OperandLayout& to, void* out) {
    for (std::size_t k = 0; k < shape.filters; k += kDepth) {
      for (std::size_t c = 0; c < kPanel; c += kLanes) {
        const std::size_t channel = panel * kPanel + c;
        const std::size_t count = channel < shape.channels ? shape.channels - channel : 0;
        Floats taps[kDepth][kTaps] = {};
        for (std::size_t d = 0; d < kDepth && k + d < shape.filters; ++d) {
          for (std::size_t tap = 0; tap < kTaps; ++tap) {
            const Number* from = static_cast<const Number*>(filters) +
                                 ((k + d) * kTaps + tap) * shape.channels + channel;
            taps[d][kTaps - 1 - tap] = count == 0 ? Floats{} : load_up_to(from, count);
          }
        }
        store_filters(
            taps, to.point,
            static_cast<Operand*>(out) + panel * to.panel + k / kDepth * to.rows + c * kDepth);
      }
    }
  }

  static void read_rows(const TileSourceImages& from, TileRange tiles, const OperandLayout& to,
                        void* out) {
    const std::size_t channels = from.grid.channels;
    for (std::size_t t = 0; t < tiles.count; ++t) {
      const Pixels<kSide> pixels(from, tiles.first + t);
      Operand* row = static_cast<Operand*>(out) + t * to.rows;
      std::size_t c = 0;
      for (; c + kLanes <= channels; c += kLanes) {
        transform<typename Points::Image, Floats>(PixelSource<kSide, true>{pixels, c, kLanes},
                                                  RowSink{row + c, to.point});
      }
      if (c == channels) continue;
      transform<typename Points::Image, Floats>(PixelSource<kSide, false>{pixels, c, channels - c},
                                                RowSink{row + c, to.point});
    }
  }

  // `depth` tiles of `Matrix::kIn` lines lie side by side. An odd last tile is paired with zeros.
  template <class Matrix>
  static void read_matrix(const TileSourceImages& from, TileRange tiles, const OperandLayout& to,
                          void* out) {
    using TilePixels = Pixels<Matrix::kIn>;
    const std::size_t channels = from.grid.channels;
    for (std::size_t t = 0; t < tiles.count; t += kDepth) {
      const TilePixels first(from, tiles.first + t);
      const TilePixels second = t + kDepth <= tiles.count
                                    ? TilePixels(from, tiles.first + t + kDepth - 1)
                                    : TilePixels(from.zeros);
      for (std::size_t c = 0; c < channels; c += kLanes) {
        Operand* row = static_cast<Operand*>(out) + t / kDepth * to.rows +
                       c / to.columns * to.panel + c % to.columns * kDepth;
        if (c + kLanes <= channels) {
          store_tiles<Matrix, true>(first, second, c, kLanes, {row, to.point});
        } else {
          store_tiles<Matrix, false>(first, second, c, channels - c, {row, to.point});
        }
      }
    }
  }

  template <class Matrix, bool IsWhole>
  static TANDEM_INLINE void store_tiles(const Pixels<Matrix::kIn>& first,
                                        const Pixels<Matrix::kIn>& second, std::size_t channel,
                                        std::size_t count, const RowSink& to) {
    using Source = PixelSource<Matrix::kIn, IsWhole>;
    if constexpr (kDepth == 1) {
      transform<Matrix, Floats>(Source{first, channel, count}, to);
    } else {
      Floats one[kSide * kSide], other[kSide * kSide];
      transform<Matrix, Floats>(Source{first, channel, count}, VectorSink{one});
      transform<Matrix, Floats>(Source{second, channel, count}, VectorSink{other});
      for (std::size_t i = 0; i < kSide * kSide; ++i) {
        Isa::store_rows(one[i], other[i], to.to + i * to.point);
      }
    }
  }

  static void write_tiles(const float* sums, const SumsLayout& from, const TileGrid& grid,
                          TileRange tiles, std::size_t columns, void* out) {
    const std::size_t of_image = grid.tile_rows * grid.tile_columns;
    for (std::size_t t = 0; t < tiles.count; ++t) {
      const std::size_t tile = tiles.first + t;
      const std::size_t top = tile % of_image / grid.tile_columns * kTile;
      const std::size_t left = tile % grid.tile_columns * kTile;
      Number* corner = static_cast<Number*>(out) +
                       ((tile / of_image * grid.height + top) * grid.width + left) * grid.channels;
      for (std::size_t c = 0; c < columns; c += kLanes) {
        transform<typename Points::Results, Floats>(
            SumsSource{sums + t * from.row + c, from.point},
            TileSink{corner + c, grid.width * grid.channels, grid.channels, grid.height - top,
                     grid.width - left, columns - c});
      }
    }
  }

  static void write_filters(const float* sums, std::size_t point_stride, std::size_t columns,
                            std::size_t channels, bool adds, float* out) {
    for (std::size_t c = 0; c < columns; c += kLanes) {
      transform<typename Points::FilterGradient, Floats>(
          SumsSource{sums + c, point_stride}, FilterSink{out + c, channels, columns - c, adds});
    }
  }
};

}  // namespace
}  // namespace tandem::kernels
