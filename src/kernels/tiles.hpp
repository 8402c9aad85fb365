// Blocks of 32 x 32 bfloat16 values, packed for matrix products, and their fp32 sums: by AMX tiles,
// or by plain loops with the same layouts. A TileScope holds the AMX tiles of its thread.
//
// A left block is stored row by row. A right block stores columns 0 to 15, then 16 to 31; within
// these the row pairs 0 and 1, 2 and 3, …, with the two values of a pair side by side (Intel's
// "VNNI" layout).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

constexpr std::size_t kTileSide = 32;
constexpr std::size_t kTileSize = kTileSide * kTileSide;

inline std::size_t tiles_for(std::size_t numbers) { return (numbers + kTileSide - 1) / kTileSide; }
// How many of `numbers` are in tile number `tile`.
inline std::size_t in_tile(std::size_t numbers, std::size_t tile) {
  return std::min(kTileSide, numbers - tile * kTileSide);
}

// Numbers in memory, line by line, `stride` from one to the next; both at most kTileSide.
struct TileSource {
  const std::uint16_t* numbers = nullptr;
  std::size_t stride = 0;
  std::size_t rows = 0, columns = 0;
};

// The destination of a tile, as in a TileSource.
struct TileTarget {
  std::uint16_t* numbers = nullptr;
  std::size_t stride = 0;
  std::size_t rows = 0, columns = 0;
};

struct TileProduct {
  const std::uint16_t *left = nullptr, *right = nullptr;
};

// Blocks are aligned to 64 bytes. What a source lacks of 32 x 32 becomes zeros.
struct TileFunctions {
  // Makes this thread's tiles ready, and saves in 64 bytes how they were configured, but not what
  // they held; configures them so again.
  void (*enter)(unsigned char* configuration);
  void (*leave)(const unsigned char* configuration);

  void (*pack_left)(const TileSource& from, std::uint16_t* block);
  void (*pack_right)(const TileSource& from, std::uint16_t* block);
  // Columns of the source become rows of the block.
  void (*pack_transposed_left)(const TileSource& from, std::uint16_t* block);
  void (*pack_transposed_right)(const TileSource& from, std::uint16_t* block);

  // sums, row by row = start (zeros where null, may be `sums`) + the products in their order.
  void (*multiply)(const TileProduct* products, std::size_t count, const float* start, float* sums);
  // Rounds lines of numbers, `stride` apart, to bfloat16: to the nearest, ties to even. NaN becomes
  // a quiet NaN.
  void (*round)(const float* numbers, std::size_t stride, const TileTarget& to);
};

const TileFunctions& portable_tiles();
// Null if the program was compiled without them, or the processor or the system lacks them.
const TileFunctions* amx_tiles();

// A scope in which a thread may multiply. Scopes do not nest, because the inner one would clear the
// outer one's tiles.
class TileScope {
 public:
  explicit TileScope(const TileFunctions& tiles) : tiles_(tiles) { tiles_.enter(configuration_); }
  ~TileScope() { tiles_.leave(configuration_); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  const TileFunctions& tiles_;
  alignas(64) unsigned char configuration_[64] = {};
};

}  // namespace tandem::kernels
