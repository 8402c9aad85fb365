#include "tandem/kernels/gelu.hpp"

#include <cmath>

#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/cpu_clones.hpp"

namespace tandem::kernels {
namespace {

constexpr std::size_t kNumbers = 65536;
constexpr double kRootOfHalf = 0.70710678118654752440;
constexpr double kDensityAtZero = 0.39894228040143267794;  // 1 / sqrt(2 pi)

}  // namespace

GeluTables::GeluTables() : value(kNumbers), slope(kNumbers) {
  for (std::size_t bits = 0; bits < kNumbers; ++bits) {
    const double x = float_of_bfloat16(static_cast<std::uint16_t>(bits));
    // erfc keeps the digits that 1 + erf loses where x is far below 0.
    const double share = 0.5 * std::erfc(-x * kRootOfHalf);
    const bool is_infinite = std::isinf(x);
    const double density = kDensityAtZero * std::exp(-0.5 * x * x);
    value[bits] = bfloat16_of_float(static_cast<float>(share == 0 ? -0.0 : x * share));
    slope[bits] = static_cast<float>(is_infinite ? share : share + x * density);
  }
}

TANDEM_CLONES void gelu(const GeluTables& tables, const std::uint16_t* in, std::uint16_t* out,
                        std::size_t size) {
  const std::uint16_t* value = tables.value.data();
  for (std::size_t i = 0; i < size; ++i) out[i] = value[in[i]];
}

TANDEM_CLONES void gelu_gradient(const GeluTables& tables, const std::uint16_t* in,
                                 const std::uint16_t* gradient, std::uint16_t* out,
                                 std::size_t size) {
  const float* slope = tables.slope.data();
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = bfloat16_of_float(float_of_bfloat16(gradient[i]) * slope[in[i]]);
  }
}

}  // namespace tandem::kernels
