// The loops of PowerSGD over plain arrays. Each rounds alike on every processor, so ranks on
// different ones get the same bits.
#pragma once

#include <cstddef>

namespace tandem::train {

float dot(const float* one, const float* other, std::size_t size);
// sum += factor * values
void add_scaled(float* sum, const float* values, float factor, std::size_t size);

// Makes `columns` vectors of `size`, one after the other, orthonormal by Gram-Schmidt in their
// order. A vector that depends on earlier ones, to rounding, becomes 0.
void orthonormalize(float* vectors, std::size_t columns, std::size_t size);

}  // namespace tandem::train
