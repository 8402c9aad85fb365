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

// The channels of an image or of a part of it.
struct PixelRows {
  std::size_t pixels = 0, channels = 0;
};

// passed = gradient * gelu'(scale * in + shift), rounded, which is added to `sums`.
void normalized_gelu_gradient(const GeluTables& tables, LayerGradient layer, PixelRows size,
                              Normalization to, std::uint16_t* passed, ChannelSums sums);

// gradient = scale * gradient + slope * in + offset.
void correct_gradient(const std::uint16_t* in, std::size_t pixels, std::size_t channels,
                      const float* scale, Correction correction, std::uint16_t* gradient);

}  // namespace tandem::kernels
