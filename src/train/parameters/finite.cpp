#include "finite.hpp"

#include <cstdint>
#include <cstring>

#include "tandem/kernels/cpu_clones.hpp"

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

// A compiler may not change the order of a sum, so it is given as many sums as it can add at once.
TANDEM_CLONES double products_in_lanes(const float* one, const float* other, std::size_t size) {
  constexpr std::size_t kLanes = 16;
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += static_cast<double>(one[i + lane]) * other[i + lane];
    }
  }
  double sum = 0;
  for (; i < size; ++i) sum += static_cast<double>(one[i]) * other[i];
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

double precise_dot(Span<const float> one, Span<const float> other) {
  return products_in_lanes(one.data(), other.data(), one.size());
}

double sum_of_squares(Span<const float> values) { return precise_dot(values, values); }

bool all_finite(Span<const float> values) {
  return exponents_below_highest(values.data(), values.size());
}

}  // namespace tandem::train
