// Loops over bfloat16 values: ReLU, the gradient of a layer's bias, 2x2 max pooling, and
// conversion between memory layouts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

// In place: negative values become 0; NaN propagates.
void relu(std::uint16_t* values, std::size_t size);
// out = gradient where `values`, the results of ReLU, are nonzero; else 0.
void relu_gradient(const std::uint16_t* values, const std::uint16_t* gradient, std::uint16_t* out,
                   std::size_t size);
// Adds each row to `sums`.
void add_rows(const std::uint16_t* values, std::size_t rows, std::size_t columns, float* sums);

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
