// What: batch normalization with its ReLU, and with 2x2 max-pooling too, of bfloat16 images whose
// channels lie side by side: loops that read activations once where a library reads them for each
// operation, and that write no gradient of what pooling left out.
// Owns: nothing. Threads: any. Throws: nothing.
//
// Arithmetic is fp32, each result rounded once. All arrays of activations hold bits of bfloat16
// numbers, pixel by pixel, `channels` to a pixel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

// Of each channel the mean and the sum of squares of what differs from it, over `pixels` > 0.
void channel_moments(const std::uint16_t* in, std::size_t pixels, std::size_t channels, float* mean,
                     float* squares);

// Of each channel: result = max(0, scale * in + shift).
struct Normalization {
  const float* scale = nullptr;
  const float* shift = nullptr;
};

void normalized_relu(const std::uint16_t* in, std::size_t pixels, std::size_t channels,
                     Normalization to, std::uint16_t* out);

// Of one image; of odd sizes the last line is left out. argmax: 2 * row + column of the first of
// the largest (of the last that is no number), 4 where none is above 0; as many as results.
void pooled_normalized_relu(const std::uint16_t* in, std::size_t height, std::size_t width,
                            std::size_t channels, Normalization to, std::uint16_t* out,
                            std::uint8_t* argmax);

// Adds for each channel, of the gradients that ReLU passes on: their sum, and the sum of their
// products with what they belong to less `mean`.
void add_gradient_sums(const std::uint16_t* in, const std::uint16_t* gradient, std::size_t pixels,
                       std::size_t channels, Normalization to, const float* mean, float* sum,
                       float* product);
void add_pooled_gradient_sums(const std::uint16_t* in, const std::uint16_t* gradient,
                              const std::uint8_t* argmax, std::size_t height, std::size_t width,
                              std::size_t channels, const float* mean, float* sum, float* product);

// out = scale * (gradient that ReLU passes on) + slope * in + offset, slope and offset of each
// channel.
struct Correction {
  const float* slope = nullptr;
  const float* offset = nullptr;
};
void normalized_gradient(const std::uint16_t* in, const std::uint16_t* gradient, std::size_t pixels,
                         std::size_t channels, Normalization to, Correction correction,
                         std::uint16_t* out);
void pooled_normalized_gradient(const std::uint16_t* in, const std::uint16_t* gradient,
                                const std::uint8_t* argmax, std::size_t height, std::size_t width,
                                std::size_t channels, Normalization to, Correction correction,
                                std::uint16_t* out);

}  // namespace tandem::kernels
