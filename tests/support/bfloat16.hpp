// Arithmetic of comm::Bfloat16, for tests. Sums are cut, not rounded: tests add what is exact.
#pragma once

#include <cstring>

#include "tandem/comm/collectives.hpp"

namespace tandem::comm {

inline float widened(Bfloat16 value) {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  float wide = 0;
  std::memcpy(&wide, &bits, sizeof wide);
  return wide;
}

inline Bfloat16 narrowed(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return {static_cast<std::uint16_t>(bits >> 16)};
}

inline Bfloat16 operator+(Bfloat16 a, Bfloat16 b) { return narrowed(widened(a) + widened(b)); }
inline bool operator<(Bfloat16 a, Bfloat16 b) { return widened(a) < widened(b); }

}  // namespace tandem::comm
