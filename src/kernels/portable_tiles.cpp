#include <algorithm>

#include "tandem/kernels/bfloat16.hpp"
#include "tiles.hpp"

namespace tandem::kernels {
namespace {

constexpr std::size_t kHalf = kTileSide / 2;

std::size_t place_in_right(std::size_t row, std::size_t column) {
  return column / kHalf * kTileSize / 2 + row / 2 * kTileSide + column % kHalf * 2 + row % 2;
}

// place(row, column): where in the block a number of the source goes.
template <class Place>
void pack(const TileSource& from, std::uint16_t* block, const Place& place) {
  std::fill_n(block, kTileSize, std::uint16_t{0});
  for (std::size_t row = 0; row < from.rows; ++row) {
    for (std::size_t column = 0; column < from.columns; ++column) {
      block[place(row, column)] = from.numbers[row * from.stride + column];
    }
  }
}

void pack_left(const TileSource& from, std::uint16_t* block) {
  pack(from, block, [](std::size_t row, std::size_t column) { return row * kTileSide + column; });
}

void pack_right(const TileSource& from, std::uint16_t* block) { pack(from, block, place_in_right); }

void pack_transposed_left(const TileSource& from, std::uint16_t* block) {
  pack(from, block, [](std::size_t row, std::size_t column) { return column * kTileSide + row; });
}

void pack_transposed_right(const TileSource& from, std::uint16_t* block) {
  pack(from, block,
       [](std::size_t row, std::size_t column) { return place_in_right(column, row); });
}

void multiply(const TileProduct* products, std::size_t count, const float* start, float* sums) {
  if (!start) {
    std::fill_n(sums, kTileSize, 0.0F);
  } else if (start != sums) {
    std::copy_n(start, kTileSize, sums);
  }
  for (std::size_t i = 0; i < count; ++i) {
    float right[kTileSize];
    for (std::size_t k = 0; k < kTileSize; ++k) {
      right[k] = float_of_bfloat16(products[i].right[place_in_right(k / kTileSide, k % kTileSide)]);
    }
    for (std::size_t row = 0; row < kTileSide; ++row) {
      for (std::size_t k = 0; k < kTileSide; ++k) {
        const float left = float_of_bfloat16(products[i].left[row * kTileSide + k]);
        for (std::size_t column = 0; column < kTileSide; ++column) {
          sums[row * kTileSide + column] += left * right[k * kTileSide + column];
        }
      }
    }
  }
}

void round(const float* numbers, std::size_t stride, const TileTarget& to) {
  for (std::size_t row = 0; row < to.rows; ++row) {
    for (std::size_t column = 0; column < to.columns; ++column) {
      to.numbers[row * to.stride + column] = bfloat16_of_float(numbers[row * stride + column]);
    }
  }
}

void nothing(unsigned char*) {}
void nothing_back(const unsigned char*) {}

constexpr TileFunctions kPortable{
    nothing,  nothing_back, pack_left, pack_right, pack_transposed_left, pack_transposed_right,
    multiply, round};

}  // namespace

const TileFunctions& portable_tiles() { return kPortable; }

}  // namespace tandem::kernels
