// What: batch normalization with its GELU of bfloat16 images whose channels lie side by side: one
// pass forward, two backward.
// Owns: nothing. Threads: any. Throws: nothing.
//
// All arrays of activations hold bits of bfloat16 numbers, pixel by pixel, `channels` to a pixel.
// What is normalized is rounded to bfloat16 before GELU looks it up, as if the two were apart.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/kernels/gelu.hpp"
#include "tandem/kernels/normalized_relu.hpp"

namespace tandem::kernels {

// out = gelu(scale * in + shift).
void normalized_gelu(const GeluTables& tables, const std::uint16_t* in, std::size_t pixels,
                     std::size_t channels, Normalization to, std::uint16_t* out);

// passed = gradient * gelu'(scale * in + shift), rounded; adds for each channel its sum, and that
// of its products with `in` less `mean`.
void normalized_gelu_gradient(const GeluTables& tables, const std::uint16_t* in,
                              const std::uint16_t* gradient, std::size_t pixels,
                              std::size_t channels, Normalization to, const float* mean,
                              std::uint16_t* passed, float* sum, float* product);

// gradient = scale * gradient + slope * in + offset.
void correct_gradient(const std::uint16_t* in, std::size_t pixels, std::size_t channels,
                      const float* scale, Correction correction, std::uint16_t* gradient);

}  // namespace tandem::kernels
