// ReLU of bfloat16 values, its gradient, and the gradient of a layer's bias.
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

}  // namespace tandem::kernels
