// Numbers of few bits, so that what is computed from them is exact and needs no rounding.
#pragma once

#include <cmath>
#include <vector>

#include "tandem/core/random.hpp"
#include "tandem/kernels/bfloat16.hpp"

namespace tandem::kernels {

// Bits of bfloat16 numbers: multiples of 1/4 from -4 to 4.
inline std::vector<std::uint16_t> quarters(std::size_t size, std::uint64_t seed) {
  CounterRandom random{seed, 1};
  std::vector<std::uint16_t> bits(size);
  for (std::uint16_t& each : bits) {
    each = bfloat16_of_float(static_cast<float>(std::floor(random.uniform() * 33)) / 4 - 4);
  }
  return bits;
}

}  // namespace tandem::kernels
