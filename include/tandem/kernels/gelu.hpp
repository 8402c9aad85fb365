// What: GELU, x/2 (1 + erf(x / sqrt 2)), of bfloat16 numbers, and its derivative: by table, because
// there are only 65,536 of them.
// Owns: GeluTables its two arrays. Threads: any. Throws: std::bad_alloc.
//
// An entry is computed in double and rounded once, so results are the same on every processor
// but for what its mathematical library rounds otherwise. What
// activations are, -8 to 8 without what is nearly 0, takes some 10 KB of a table: the first-level
// cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::kernels {

// By the bits of x.
struct GeluTables {
  GeluTables();
  std::vector<std::uint16_t> value;  // bits of the bfloat16 nearest to gelu(x), ties to even
  std::vector<float> slope;          // gelu'(x)
};

// All arrays hold bits of `size` bfloat16 numbers; `out` may be the input.
void gelu(const GeluTables& tables, const std::uint16_t* in, std::uint16_t* out, std::size_t size);
// out = gradient * gelu'(in), rounded to nearest, ties to even.
void gelu_gradient(const GeluTables& tables, const std::uint16_t* in, const std::uint16_t* gradient,
                   std::uint16_t* out, std::size_t size);

}  // namespace tandem::kernels
