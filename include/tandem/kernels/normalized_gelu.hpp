// Batch normalization fused with GELU, for bfloat16 images in channels-last layout: one pass
// forward, two backward.
//
// All arrays of activations hold bits of bfloat16 values, pixel by pixel, `channels` to a pixel.
// The normalized value is rounded to bfloat16 before GELU, as in separate layers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/kernels/gelu.hpp"
#include "tandem/kernels/normalized_relu.hpp"

namespace tandem::kernels {

// out = gelu(scale * in + shift).
void normalized_gelu(const GeluTables& tables, const std::uint16_t* in, std::size_t pixels,
                     std::size_t channels, Normalization to, std::uint16_t* out);

// passed = gradient * gelu'(scale * in + shift), rounded. Adds to each channel's sum, and to the
// sum of its products with `in` - `mean`.
void normalized_gelu_gradient(const GeluTables& tables, const std::uint16_t* in,
                              const std::uint16_t* gradient, std::size_t pixels,
                              std::size_t channels, Normalization to, const float* mean,
                              std::uint16_t* passed, float* sum, float* product);

// gradient = scale * gradient + slope * in + offset.
void correct_gradient(const std::uint16_t* in, std::size_t pixels, std::size_t channels,
                      const float* scale, Correction correction, std::uint16_t* gradient);

}  // namespace tandem::kernels
