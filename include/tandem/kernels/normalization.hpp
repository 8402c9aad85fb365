// Batch normalization, alone or fused with GELU, with ReLU, with ReLU and 2x2 max pooling, or with
// a sum and ReLU, for bfloat16 images in channels-last layout. Activations are read once. No
// gradient is written for values that pooling dropped.
//
// Arithmetic is fp32, and each result is rounded once. All arrays of activations hold bits of
// bfloat16 values, pixel by pixel, `channels` to a pixel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/kernels/gelu.hpp"

namespace tandem::kernels {

struct ImageSize {
  std::size_t height = 0, width = 0, channels = 0;
};

// The channels of an image or of a part of it.
struct PixelRows {
  std::size_t pixels = 0, channels = 0;
};

// Mean of each channel and sum of squared deviations, over `pixels` > 0.
void channel_moments(const std::uint16_t* in, std::size_t pixels, std::size_t channels, float* mean,
                     float* squares);

// Per channel: result = max(0, scale * in + shift).
struct Normalization {
  const float* scale = nullptr;
  const float* shift = nullptr;
};

void normalized_relu(const std::uint16_t* in, std::size_t pixels, std::size_t channels,
                     Normalization to, std::uint16_t* out);

// One image; an odd last row or column is ignored. argmax: 2 * row + column of the first maximum
// (of the last NaN), 4 if none is above 0; one per result.
void pooled_normalized_relu(const std::uint16_t* in, ImageSize size, Normalization to,
                            std::uint16_t* out, std::uint8_t* argmax);

// The input of the forward pass, the gradient of its result and, with pooling, its argmax.
struct LayerGradient {
  const std::uint16_t* in = nullptr;
  const std::uint16_t* gradient = nullptr;
  const std::uint8_t* argmax = nullptr;
};

// Per channel: the sum of gradients, and the sum of their products with `in` - `mean`.
struct ChannelSums {
  const float* mean = nullptr;
  float* sum = nullptr;
  float* product = nullptr;
};

// Adds the gradients that ReLU passes.
void add_gradient_sums(LayerGradient layer, std::size_t pixels, std::size_t channels,
                       Normalization to, ChannelSums sums);
void add_pooled_gradient_sums(LayerGradient layer, ImageSize size, ChannelSums sums);

// out = scale * (gradient that ReLU passes) + slope * in + offset, with slope and offset per
// channel.
struct Correction {
  const float* slope = nullptr;
  const float* offset = nullptr;
};
void normalized_gradient(LayerGradient layer, std::size_t pixels, std::size_t channels,
                         Normalization to, Correction correction, std::uint16_t* out);
void pooled_normalized_gradient(LayerGradient layer, ImageSize size, Normalization to,
                                Correction correction, std::uint16_t* out);

// out = scale * in + shift.
void normalized(const std::uint16_t* in, PixelRows size, Normalization to, std::uint16_t* out);
// out = max(0, scale * in + shift + residual).
void normalized_relu_of_sum(const std::uint16_t* in, const std::uint16_t* residual, PixelRows size,
                            Normalization to, std::uint16_t* out);

// Adds all gradients.
void add_all_gradient_sums(LayerGradient layer, PixelRows size, ChannelSums sums);
// passed = the gradient where the layer's `result` is not below or equal to 0, else 0. Adds passed
// to `sums`.
void pass_relu_gradient(LayerGradient layer, const std::uint16_t* result, PixelRows size,
                        std::uint16_t* passed, ChannelSums sums);
// out = scale * gradient + slope * in + offset.
void corrected_gradient(LayerGradient layer, PixelRows size, const float* scale,
                        Correction correction, std::uint16_t* out);

// out = gelu(scale * in + shift). The normalized value is rounded to bfloat16 before GELU, as in
// separate layers.
void normalized_gelu(const GeluTables& tables, const std::uint16_t* in, std::size_t pixels,
                     std::size_t channels, Normalization to, std::uint16_t* out);

// passed = gradient * gelu'(scale * in + shift), rounded, which is added to `sums`.
void normalized_gelu_gradient(const GeluTables& tables, LayerGradient layer, PixelRows size,
                              Normalization to, std::uint16_t* passed, ChannelSums sums);

// gradient = scale * gradient + slope * in + offset.
void correct_gradient(const std::uint16_t* in, std::size_t pixels, std::size_t channels,
                      const float* scale, Correction correction, std::uint16_t* gradient);

}  // namespace tandem::kernels
