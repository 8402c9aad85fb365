// The loops of Winograd's convolution for one instruction set, which winograd.cpp calls for parts
// of the work.
//
// Notation of Lavin and Gray: V = B^T d B of an image's tile d, U = G g G^T of a filter g; their
// products, point by point of a tile, are summed over channels to M, and A^T M A is a tile of
// results. For the gradient of filters, V and A y A^T of a tile y of the results' gradient are
// multiplied and summed over tiles to D, and G^T D G is the gradient.
//
// Operands are fp32 numbers, or bits of bfloat16 numbers in pairs whose products are added at once.
// `depth` is the number of operands that are multiplied at once: 1 or 2.
#pragma once

#include <cstddef>

#include "tandem/kernels/winograd.hpp"

namespace tandem::kernels {

// Images cut into tiles. The first tile begins `padding` lines outside the image.
struct TileGrid {
  std::size_t height = 0, width = 0, channels = 0;
  std::size_t tile_rows = 0, tile_columns = 0;  // of an image
  std::size_t padding = 0;
};

struct TileRange {
  std::size_t first = 0, count = 0;
};

// Operands: one matrix for each point of a tile, with its columns in panels. `depth` rows lie side
// by side. Strides, in operands: between points, between panels, and between groups of `depth`
// rows.
struct OperandLayout {
  std::size_t point = 0, panel = 0, rows = 0;
  std::size_t columns = 0;  // of a panel
};

struct TileSourceImages {
  const TileGrid& grid;
  const void* numbers = nullptr;
  const void* zeros = nullptr;  // a pixel of zeros
};

// Multiplies rows of the left operand by a panel of the right one. May write more than `columns`
// sums a row, up to a whole panel.
struct PanelProduct {
  const void *left = nullptr, *right = nullptr;
  std::size_t left_row = 0, left_step = 0;  // strides in operands; a step is `depth` operands
  std::size_t steps = 0, rows = 0, columns = 0;
  float* sums = nullptr;
  std::size_t sums_row = 0;
  bool adds = false;  // to `sums`
};

// fp32 sums: numbers from point to point, and from row to row.
struct SumsLayout {
  std::size_t point = 0, row = 0;
};

struct FilterShape {
  std::size_t filters = 0, channels = 0;
};

struct WinogradForm {
  std::string_view name;
  ImageNumbers numbers;
  std::size_t tile;           // results of a tile, along a side
  std::size_t operand_bytes;  // 4, or 2
  std::size_t depth;
  std::size_t panel;  // columns of a right operand

  std::size_t points() const { return (tile + 2) * (tile + 2); }

  // Panel number `panel` of U: of filters, by channel; flipped, of channels, by filter.
  void (*pack_filters)(const void* filters, const FilterShape& shape, std::size_t panel,
                       const OperandLayout& to, void* out);
  void (*pack_flipped_filters)(const void* filters, const FilterShape& shape, std::size_t panel,
                               const OperandLayout& to, void* out);
  // V, one row per tile, whose channels are side by side.
  void (*read_rows)(const TileSourceImages& from, TileRange tiles, const OperandLayout& to,
                    void* out);
  // V and A y A^T, with `depth` tiles side by side; tiles.first is a multiple of `depth`.
  void (*read_images)(const TileSourceImages& from, TileRange tiles, const OperandLayout& to,
                      void* out);
  void (*read_gradients)(const TileSourceImages& from, TileRange tiles, const OperandLayout& to,
                         void* out);
  void (*multiply)(const PanelProduct& product);
  // A^T M A: `columns` of the grid's channels; `out` is the first of them in the first image.
  void (*write_tiles)(const float* sums, const SumsLayout& from, const TileGrid& grid,
                      TileRange tiles, std::size_t columns, void* out);
  // G^T D G of one row of D, `columns` channels of a filter; `out` is the first of them in the
  // first tap, `channels` apart from the next tap's. Added to zeros, or to `out` if `adds`.
  void (*write_filters)(const float* sums, std::size_t point_stride, std::size_t columns,
                        std::size_t channels, bool adds, float* out);
};

// Null without the instructions, or if the compiler does not know them.
const WinogradForm* avx2_winograd(ImageNumbers numbers);
const WinogradForm* avx512_winograd(ImageNumbers numbers);
const WinogradForm* avx512_bf16_winograd();
// Plain C++: with vectors of 4 to 16 numbers, both tiles and both kinds of operands.
std::vector<const WinogradForm*> portable_winograd_forms();

}  // namespace tandem::kernels
