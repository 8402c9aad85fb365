#include "bfloat16_loops.hpp"

#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/cpu_clones.hpp"

namespace tandem::comm {
namespace {

using kernels::bfloat16_of_float;
using kernels::float_of_bfloat16;

// x - x is 0 for every finite x, and for no other.
inline float if_finite(float x) { return x - x == 0.0F ? x : 0.0F; }

}  // namespace

TANDEM_CLONES void round_and_keep_error(Bfloat16* __restrict rounded, const float* __restrict value,
                                        float* __restrict error, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const float whole = value[i] + error[i];
    rounded[i].bits = bfloat16_of_float(whole);
    error[i] = if_finite(whole - float_of_bfloat16(rounded[i].bits));
  }
}

TANDEM_CLONES void round_and_add_error(Bfloat16* __restrict rounded, const float* __restrict value,
                                       float* __restrict error, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    rounded[i].bits = bfloat16_of_float(value[i]);
    error[i] += if_finite(value[i] - float_of_bfloat16(rounded[i].bits));
  }
}

TANDEM_CLONES void widen(float* __restrict value, const Bfloat16* __restrict rounded,
                         std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) value[i] = float_of_bfloat16(rounded[i].bits);
}

TANDEM_CLONES void add_widened(float* __restrict sum, const Bfloat16* __restrict rounded,
                               std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) sum[i] += float_of_bfloat16(rounded[i].bits);
}

}  // namespace tandem::comm
