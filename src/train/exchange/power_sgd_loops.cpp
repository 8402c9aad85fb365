#include "power_sgd_loops.hpp"

#include <cmath>

#include "tandem/kernels/cpu_clones.hpp"
#include "train/parameters/finite.hpp"

namespace tandem::train {

// A compiler may not change the order of a sum, so it is given as many sums as it can add at once.
TANDEM_CLONES float dot(const float* __restrict one, const float* __restrict other,
                        std::size_t size) {
  constexpr std::size_t kLanes = 32;
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += one[i + lane] * other[i + lane];
    }
  }
  float sum = 0;
  for (; i < size; ++i) sum += one[i] * other[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

TANDEM_CLONES void add_scaled(float* __restrict sum, const float* __restrict values, float factor,
                              std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) sum[i] += factor * values[i];
}

void orthonormalize(float* vectors, std::size_t columns, std::size_t size) {
  constexpr double kDependent = 1e-6;  // relative to the length before; less is rounding
  for (std::size_t column = 0; column < columns; ++column) {
    float* const own = vectors + column * size;
    const double before = std::sqrt(sum_of_squares({own, size}));
    // Twice is enough: Giraud, Langou, Rozloznik, "The loss of orthogonality in the Gram-Schmidt
    // orthogonalization process", Computers & Mathematics with Applications 50 (2005).
    for (int pass = 0; pass < 2; ++pass) {
      for (const float* other = vectors; other < own; other += size) {
        add_scaled(own, other, -static_cast<float>(precise_dot({own, size}, {other, size})), size);
      }
    }
    const double length = std::sqrt(sum_of_squares({own, size}));
    const bool is_dependent = length == 0 || length < kDependent * before;
    for (std::size_t i = 0; i < size; ++i) {
      own[i] = is_dependent ? 0 : static_cast<float>(own[i] / length);
    }
  }
}

}  // namespace tandem::train
