#include "tandem/kernels/relu.hpp"

#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/cpu_clones.hpp"

namespace tandem::kernels {
namespace {

constexpr std::uint16_t kSign = 0x8000, kMinusInfinity = 0xFF80;

}  // namespace

TANDEM_CLONES void relu(std::uint16_t* values, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const bool is_negative = (values[i] >= kSign) & (values[i] <= kMinusInfinity);
    values[i] = is_negative ? 0 : values[i];
  }
}

TANDEM_CLONES void relu_gradient(const std::uint16_t* __restrict values,
                                 const std::uint16_t* __restrict gradient,
                                 std::uint16_t* __restrict out, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint16_t passed = gradient[i];
    out[i] = values[i] == 0 ? 0 : passed;
  }
}

TANDEM_CLONES void add_rows(const std::uint16_t* __restrict values, std::size_t rows,
                            std::size_t columns, float* __restrict sums) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      sums[column] += float_of_bfloat16(values[row * columns + column]);
    }
  }
}

}  // namespace tandem::kernels
