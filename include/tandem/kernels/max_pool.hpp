// What: 2x2 max-pooling of bfloat16 images whose channels lie side by side, which remembers its
// argmaxes in a byte each and writes its gradient once.
// Owns: nothing. Threads: any. Throws: nothing.
//
// All arrays of activations hold bits of bfloat16 numbers, pixel by pixel, `channels` to a pixel,
// of one image. Of odd sizes the last line is left out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

// argmax: 2 * row + column of the first of the largest (of the last that is no number); as many as
// results.
void max_pool(const std::uint16_t* in, std::size_t height, std::size_t width, std::size_t channels,
              std::uint16_t* out, std::uint8_t* argmax);

// height, width: of the image that was pooled. out: of its size; 0 for what was not chosen.
void max_pool_gradient(const std::uint16_t* gradient, const std::uint8_t* argmax,
                       std::size_t height, std::size_t width, std::size_t channels,
                       std::uint16_t* out);

}  // namespace tandem::kernels
