// Loops over bfloat16 values: ReLU, GELU, the gradient of a layer's bias, 2x2 max pooling, and
// conversion between memory layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::kernels {

// In place: negative values become 0; NaN propagates.
void relu(std::uint16_t* values, std::size_t size);
// out = gradient where `values`, the results of ReLU, are nonzero; else 0.
void relu_gradient(const std::uint16_t* values, const std::uint16_t* gradient, std::uint16_t* out,
                   std::size_t size);
// Adds each row to `sums`.
void add_rows(const std::uint16_t* values, std::size_t rows, std::size_t columns, float* sums);

// The table of GELU, x/2 (1 + erf(x / sqrt 2)), of all 65,536 bfloat16 values, and of its
// derivative, indexed by the bits of x. Throws std::bad_alloc.
//
// An entry is computed in double and rounded once, so processors differ only where their math
// libraries do. Typical activations, -8 to 8 without values near 0, use about 10 KiB of a table,
// which fits the first-level cache.
struct GeluTables {
  GeluTables();
  std::vector<std::uint16_t> value;  // bits of the bfloat16 nearest to gelu(x), ties to even
  std::vector<float> slope;          // gelu'(x)
};

// Arrays hold the bits of `size` bfloat16 values; `out` may be the input.
void gelu(const GeluTables& tables, const std::uint16_t* in, std::uint16_t* out, std::size_t size);
// out = gradient * gelu'(in), rounded to nearest, ties to even.
void gelu_gradient(const GeluTables& tables, const std::uint16_t* in, const std::uint16_t* gradient,
                   std::uint16_t* out, std::size_t size);

// 2x2 max pooling of one image in channels-last layout; an odd last row or column is ignored.
// argmax: 2 * row + column of the first maximum (of the last NaN), one per result.
void max_pool(const std::uint16_t* in, std::size_t height, std::size_t width, std::size_t channels,
              std::uint16_t* out, std::uint8_t* argmax);

// height, width: of the input image. out: of the same size; 0 except at the argmax.
void max_pool_gradient(const std::uint16_t* gradient, const std::uint8_t* argmax,
                       std::size_t height, std::size_t width, std::size_t channels,
                       std::uint16_t* out);

// Converts an fp32 image with one plane per channel to bfloat16 in channels-last layout, and back.
// Rounds to nearest, ties to even. Throws std::bad_alloc.
void pixels_of_planes(const float* planes, std::size_t channels, std::size_t pixels,
                      std::uint16_t* out);
void planes_of_pixels(const std::uint16_t* in, std::size_t channels, std::size_t pixels,
                      float* planes);

}  // namespace tandem::kernels
