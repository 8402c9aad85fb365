#include "bfloat16_loops.hpp"

#include <cstdint>
#include <cstring>

#include "tandem/kernels/cpu_clones.hpp"

namespace tandem::train {
namespace {

inline std::uint16_t nearest_bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t nearest = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  // Rounding could carry a NaN's bits away, down to an infinity.
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<std::uint16_t>(is_nan ? quiet : nearest);
}

inline float widened_bits(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// x - x is 0 for every finite x, and for no other.
inline float if_finite(float x) { return x - x == 0.0F ? x : 0.0F; }

}  // namespace

TANDEM_CLONES void round_and_keep_error(comm::Bfloat16* __restrict rounded,
                                        const float* __restrict value, float* __restrict error,
                                        std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const float whole = value[i] + error[i];
    rounded[i].bits = nearest_bits(whole);
    error[i] = if_finite(whole - widened_bits(rounded[i].bits));
  }
}

TANDEM_CLONES void round_and_add_error(comm::Bfloat16* __restrict rounded,
                                       const float* __restrict value, float* __restrict error,
                                       std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    rounded[i].bits = nearest_bits(value[i]);
    error[i] += if_finite(value[i] - widened_bits(rounded[i].bits));
  }
}

TANDEM_CLONES void widen(float* __restrict value, const comm::Bfloat16* __restrict rounded,
                         std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) value[i] = widened_bits(rounded[i].bits);
}

TANDEM_CLONES void add_widened(float* __restrict sum, const comm::Bfloat16* __restrict rounded,
                               std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) sum[i] += widened_bits(rounded[i].bits);
}

}  // namespace tandem::train
