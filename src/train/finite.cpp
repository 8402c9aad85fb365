#include "tandem/train/finite.hpp"

#include <cstdint>
#include <cstring>

#include "cpu_clones.hpp"

namespace tandem::train {
namespace {

// A float is finite unless all bits of its exponent are set. Integers, because the compiler turns
// this loop into vector instructions, and a sum of floats not.
TANDEM_CLONES bool exponents_below_highest(const float* values, std::size_t size) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < size; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    found |= (bits & kExponent) == kExponent ? 1U : 0U;
  }
  return found == 0;
}

}  // namespace

bool all_finite(Span<const float> values) {
  return exponents_below_highest(values.data(), values.size());
}

}  // namespace tandem::train
