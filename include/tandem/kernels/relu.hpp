// What: what is left of a bfloat16 layer beside its products: ReLU, its gradient, and the bias's.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

// In place: what is below 0 becomes 0; what is no number stays.
void relu(std::uint16_t* values, std::size_t size);
// out = gradient where `values`, the results of ReLU, are not 0; else 0.
void relu_gradient(const std::uint16_t* values, const std::uint16_t* gradient, std::uint16_t* out,
                   std::size_t size);
// Adds each row to `sums`.
void add_rows(const std::uint16_t* values, std::size_t rows, std::size_t columns, float* sums);

}  // namespace tandem::kernels
