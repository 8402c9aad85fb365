// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18 (AMX), and the
// Linux kernel's Documentation/arch/x86/xstate.rst: a process asks for the tiles before it uses
// them.
#include "tiles.hpp"

#if defined(__x86_64__) && defined(__linux__) && (defined(__clang__) || __GNUC__ >= 11)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TANDEM_AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw")))
#define TANDEM_AMX_INLINE TANDEM_AMX __attribute__((always_inline)) inline

namespace tandem::kernels {
namespace {

constexpr std::size_t kTileBytes = 64;  // of a line of a tile
constexpr std::size_t kLine = kTileSide * sizeof(float);

// Eight tiles of 16 lines. Constant, because GCC before 13.3 does not see what _tile_loadconfig
// reads (its bug 114098).
struct alignas(64) TileConfiguration {
  unsigned char palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_of_line[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  unsigned char lines[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfiguration kConfiguration;

TANDEM_AMX void amx_enter(unsigned char* configuration) {
  _tile_storeconfig(configuration);
  _tile_loadconfig(&kConfiguration);
}

TANDEM_AMX void amx_leave(const unsigned char* configuration) {
  if (configuration[0] == 0) {
    _tile_release();
  } else {
    _tile_loadconfig(configuration);
  }
}

TANDEM_AMX_INLINE __mmask32 columns_mask(std::size_t columns) {
  return columns < kTileSide ? (1U << columns) - 1 : ~0U;
}

TANDEM_AMX_INLINE void load_lines(const TileSource& from, __m512i* lines) {
  const __mmask32 mask = columns_mask(from.columns);
  for (std::size_t row = 0; row < kTileSide; ++row) {
    lines[row] = row < from.rows ? _mm512_maskz_loadu_epi16(mask, from.numbers + row * from.stride)
                                 : _mm512_setzero_si512();
  }
}

TANDEM_AMX void amx_pack_left(const TileSource& from, std::uint16_t* block) {
  __m512i lines[kTileSide];
  load_lines(from, lines);
  for (std::size_t row = 0; row < kTileSide; ++row) {
    _mm512_store_si512(block + row * kTileSide, lines[row]);
  }
}

TANDEM_AMX_INLINE void store_pairs(const __m512i* lines, std::uint16_t* block) {
  const __m512i left = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i right = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  for (std::size_t pair = 0; pair < kTileSide / 2; ++pair) {
    const __m512i low = _mm512_unpacklo_epi16(lines[2 * pair], lines[2 * pair + 1]);
    const __m512i high = _mm512_unpackhi_epi16(lines[2 * pair], lines[2 * pair + 1]);
    std::uint16_t* to = block + pair * kTileSide;
    _mm512_store_si512(to, _mm512_permutex2var_epi64(low, left, high));
    _mm512_store_si512(to + kTileSize / 2, _mm512_permutex2var_epi64(low, right, high));
  }
}

TANDEM_AMX void amx_pack_right(const TileSource& from, std::uint16_t* block) {
  __m512i lines[kTileSide];
  load_lines(from, lines);
  store_pairs(lines, block);
}

// In place, of 32 lines of 32 numbers: pairs of lines are interleaved by 1, 2 and 4 numbers, within
// the four quarters of a vector, then quarters are gathered.
TANDEM_AMX_INLINE void transpose(__m512i* lines) {
  __m512i by1[kTileSide], by2[kTileSide], by4[kTileSide];
  for (std::size_t i = 0; i < 16; ++i) {
    by1[2 * i] = _mm512_unpacklo_epi16(lines[2 * i], lines[2 * i + 1]);
    by1[2 * i + 1] = _mm512_unpackhi_epi16(lines[2 * i], lines[2 * i + 1]);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      by2[4 * i + 2 * j] = _mm512_unpacklo_epi32(by1[4 * i + j], by1[4 * i + 2 + j]);
      by2[4 * i + 2 * j + 1] = _mm512_unpackhi_epi32(by1[4 * i + j], by1[4 * i + 2 + j]);
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      by4[8 * i + 2 * k] = _mm512_unpacklo_epi64(by2[8 * i + k], by2[8 * i + 4 + k]);
      by4[8 * i + 2 * k + 1] = _mm512_unpackhi_epi64(by2[8 * i + k], by2[8 * i + 4 + k]);
    }
  }
  // by4[8 i + c], quarter q: of lines 8 i to 8 i + 7 the number 8 q + c.
  for (std::size_t c = 0; c < 8; ++c) {
    const __m512i low01 = _mm512_shuffle_i32x4(by4[c], by4[8 + c], 0x44);
    const __m512i high01 = _mm512_shuffle_i32x4(by4[c], by4[8 + c], 0xEE);
    const __m512i low23 = _mm512_shuffle_i32x4(by4[16 + c], by4[24 + c], 0x44);
    const __m512i high23 = _mm512_shuffle_i32x4(by4[16 + c], by4[24 + c], 0xEE);
    lines[c] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    lines[8 + c] = _mm512_shuffle_i32x4(low01, low23, 0xDD);
    lines[16 + c] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    lines[24 + c] = _mm512_shuffle_i32x4(high01, high23, 0xDD);
  }
}

TANDEM_AMX void amx_pack_transposed_left(const TileSource& from, std::uint16_t* block) {
  __m512i lines[kTileSide];
  load_lines(from, lines);
  transpose(lines);
  for (std::size_t row = 0; row < kTileSide; ++row) {
    _mm512_store_si512(block + row * kTileSide, lines[row]);
  }
}

TANDEM_AMX void amx_pack_transposed_right(const TileSource& from, std::uint16_t* block) {
  __m512i lines[kTileSide];
  load_lines(from, lines);
  transpose(lines);
  store_pairs(lines, block);
}

// Tiles 0 to 3 are sums: upper left, upper right, lower left, lower right. 4 and 5 are the upper
// and lower half of a left block, 6 and 7 the left and right half of a right one.
TANDEM_AMX void amx_multiply(const TileProduct* products, std::size_t count, const float* start,
                             float* sums) {
  constexpr std::size_t kLower = kTileSize / 2, kRight = kTileSide / 2;
  if (start) {
    _tile_loadd(0, start, kLine);
    _tile_loadd(1, start + kRight, kLine);
    _tile_loadd(2, start + kLower, kLine);
    _tile_loadd(3, start + kLower + kRight, kLine);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t *left = products[i].left, *right = products[i].right;
    _tile_loadd(4, left, kTileBytes);
    _tile_loadd(6, right, kTileBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, right + kTileSize / 2, kTileBytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, left + kTileSize / 2, kTileBytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, kLine);
  _tile_stored(1, sums + kRight, kLine);
  _tile_stored(2, sums + kLower, kLine);
  _tile_stored(3, sums + kLower + kRight, kLine);
}

// As bfloat16_of_float. The processor's own instruction would make zeros of the smallest numbers.
TANDEM_AMX_INLINE __m256i rounded(const float* numbers, __mmask16 mask) {
  const __m512 values = _mm512_maskz_loadu_ps(mask, numbers);
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __mmask16 is_none = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
  const __m512i upper = _mm512_srli_epi32(sum, 16);
  return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(upper, is_none, _mm512_set1_epi32(0x7FC0)));
}

TANDEM_AMX void amx_round(const float* numbers, std::size_t stride, const TileTarget& to) {
  const __mmask32 mask = columns_mask(to.columns);
  const auto left = static_cast<__mmask16>(mask), right = static_cast<__mmask16>(mask >> 16);
  for (std::size_t row = 0; row < to.rows; ++row) {
    const float* line = numbers + row * stride;
    const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(rounded(line, left)),
                                            rounded(line + kTileSide / 2, right), 1);
    _mm512_mask_storeu_epi16(to.numbers + row * to.stride, mask, both);
  }
}

bool system_grants_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmxBf16 = 1U << 22, kAmxTile = 1U << 24;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kAmxBf16) == 0 || (d & kAmxTile) == 0) {
    return false;
  }
  if (!__builtin_cpu_supports("avx512bw")) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // asm/prctl.h of Linux 5.16
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

constexpr TileFunctions kAmx{amx_enter,
                             amx_leave,
                             amx_pack_left,
                             amx_pack_right,
                             amx_pack_transposed_left,
                             amx_pack_transposed_right,
                             amx_multiply,
                             amx_round};

}  // namespace

const TileFunctions* amx_tiles() {
  static const bool kIsGranted = system_grants_amx();
  return kIsGranted ? &kAmx : nullptr;
}

}  // namespace tandem::kernels
#else
namespace tandem::kernels {
const TileFunctions* amx_tiles() { return nullptr; }
}  // namespace tandem::kernels
#endif
