// GELU, x/2 (1 + erf(x / sqrt 2)) (Hendrycks and Gimpel, arXiv 1606.08415), and its derivative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::kernels {

// GELU of all 65,536 bfloat16 values and its derivative, indexed by the bits of x. Throws
// std::bad_alloc.
//
// An entry is computed in double and rounded once, so processors differ only where their math
// libraries do. Typical activations, -8 to 8 without values near 0, use about 10 KiB of a table,
// which fits the first-level cache.
struct GeluTables {
  GeluTables();
  std::vector<std::uint16_t> value;  // bits of the bfloat16 nearest to gelu(x), ties to even
  std::vector<float> slope;          // gelu'(x)
};

// out = gelu(in), slope = gelu'(in), with an absolute error below 3e-7. NaN propagates. Arrays hold
// `size` floats and do not overlap.
void gelu_and_slope(const float* in, std::size_t size, float* out, float* slope);

// Arrays hold the bits of `size` bfloat16 values; `out` may be the input.
void gelu(const GeluTables& tables, const std::uint16_t* in, std::uint16_t* out, std::size_t size);
// out = gradient * gelu'(in), rounded to nearest, ties to even.
void gelu_gradient(const GeluTables& tables, const std::uint16_t* in, const std::uint16_t* gradient,
                   std::uint16_t* out, std::size_t size);

}  // namespace tandem::kernels
