// Converts fp32 images with one plane per channel to bfloat16 in channels-last layout, and back.
// Throws std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

// One image. Rounds to nearest, ties to even.
void pixels_of_planes(const float* planes, std::size_t channels, std::size_t pixels,
                      std::uint16_t* out);
void planes_of_pixels(const std::uint16_t* in, std::size_t channels, std::size_t pixels,
                      float* planes);

}  // namespace tandem::kernels
