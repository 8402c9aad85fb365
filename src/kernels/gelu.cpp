#include "tandem/kernels/gelu.hpp"

#include <cmath>
#include <cstring>

#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/cpu_clones.hpp"

namespace tandem::kernels {
namespace {

constexpr std::size_t kNumbers = 65536;
constexpr double kRootOfHalf = 0.70710678118654752440;
constexpr double kDensityAtZero = 0.39894228040143267794;  // 1 / sqrt(2 pi)

// first + x * (second + x * ...), without a loop, which compilers would not make vectors around.
inline float polynomial(float /*x*/, float last) { return last; }
template <class... Numbers>
inline float polynomial(float x, float first, Numbers... others) {
  return first + x * polynomial(x, others...);
}

// exp(-x * x / 2) as 2^whole * 2^part, |part| <= 1/2, by a polynomial with a relative error of
// 2e-9.
inline float bell(float x) {
  constexpr float kHalfOfLog2E = 0.72134752F;
  constexpr float kLeast = -126;               // below it 2^x is subnormal
  constexpr float kRounds = 1.5F * (1 << 23);  // adding it rounds to an integer, in the lowest bits
  const float exponent = -x * x * kHalfOfLog2E;
  const float shifted = exponent + kRounds;
  const float part = exponent - (shifted - kRounds);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23;  // the bias and the place of a float's exponent
  float whole = 0;
  std::memcpy(&whole, &bits, sizeof whole);
  const float sum = polynomial(part, 1.0F, 0.693147206F, 0.240226469F, 5.55032878e-2F,
                               9.61848897e-3F, 1.33999312e-3F, 1.53458075e-4F);
  return exponent < kLeast ? 0 : sum * whole;  // at the end, or it would be no loop of vectors
}

// The share of the normal distribution below -|x|, divided by bell(x): a polynomial in
// 1 / (1 + 0.3 |x|), the form of Abramowitz and Stegun, 7.1.26, fitted to erfcx for a least
// relative error of 1.2e-7.
inline float tail_over_bell(float x) {
  const float t = 1 / (1 + 0.3F * std::fabs(x));
  const float sum = polynomial(t, 0.119624538F, 0.120826365F, 0.0994647176F, 0.13003387F,
                               -0.0564526818F, 0.20934945F, -0.158935657F, 0.0360893382F);
  return sum * t;
}

}  // namespace

TANDEM_CLONES void gelu_and_slope(const float* __restrict in, std::size_t size,
                                  float* __restrict out, float* __restrict slope) {
  for (std::size_t i = 0; i < size; ++i) {
    const float x = in[i];
    const float density = bell(x);
    const float tail = density * tail_over_bell(x);
    const float side = x < 0 ? 0.0F : 1.0F;
    const float share = side + (1 - 2 * side) * tail;
    out[i] = x * share;
    slope[i] = share + x * density * static_cast<float>(kDensityAtZero);
  }
}

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
