// 2x2 max pooling of bfloat16 images in channels-last layout. Stores each argmax in one byte and
// writes the gradient once.
//
// All arrays of activations hold bits of bfloat16 values of one image, pixel by pixel, `channels`
// to a pixel. An odd last row or column is ignored.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

// argmax: 2 * row + column of the first maximum (of the last NaN), one per result.
void max_pool(const std::uint16_t* in, std::size_t height, std::size_t width, std::size_t channels,
              std::uint16_t* out, std::uint8_t* argmax);

// height, width: of the input image. out: of the same size; 0 except at the argmax.
void max_pool_gradient(const std::uint16_t* gradient, const std::uint8_t* argmax,
                       std::size_t height, std::size_t width, std::size_t channels,
                       std::uint16_t* out);

}  // namespace tandem::kernels
