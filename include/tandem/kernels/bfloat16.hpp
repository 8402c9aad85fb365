// bfloat16, the upper half of a float, as plain bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace tandem::kernels {

inline float float_of_bfloat16(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// Rounds to nearest, ties to even; NaN becomes a quiet NaN.
inline std::uint16_t bfloat16_of_float(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  return value == value ? static_cast<std::uint16_t>(rounded >> 16) : std::uint16_t{0x7FC0};
}

}  // namespace tandem::kernels
