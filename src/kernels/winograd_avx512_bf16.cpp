// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: VDPBF16PS, VCVTNEPS2BF16
// and VCVTNE2PS2BF16, which take subnormal numbers for zeros.
#include "winograd_form.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,fma")
#include "winograd_loops.hpp"

namespace tandem::kernels {
namespace {

// 24 of 32 registers hold sums.
struct Avx512Bf16 : Bf16Products<16, 4> {
  static TANDEM_INLINE void add(const Words& left, const Right& right, Floats& sums) {
    sums = bits_as<Floats>(
        _mm512_dpbf16_ps(bits_as<__m512>(sums), bits_as<__m512bh>(left), bits_as<__m512bh>(right)));
  }
  static TANDEM_INLINE void store_row(const Floats& values, Operand* to) {
    const __m256bh halves = _mm512_cvtneps_pbh(bits_as<__m512>(values));
    std::memcpy(to, &halves, sizeof halves);
  }
  static TANDEM_INLINE void store_rows(const Floats& first, const Floats& second, Operand* to) {
    // The 16 numbers of `first` below those of `second`.
    const __m512bh both = _mm512_cvtne2ps_pbh(bits_as<__m512>(second), bits_as<__m512>(first));
    alignas(64) static constexpr std::uint16_t kOrder[32] = {
        0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i order = _mm512_load_si512(kOrder);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(order, bits_as<__m512i>(both)));
  }
};

constexpr WinogradForm kForm = WinogradLoops<Avx512Bf16, std::uint16_t, F2>::form("AVX512-BF16");

}  // namespace
}  // namespace tandem::kernels
#pragma GCC pop_options

namespace tandem::kernels {

const WinogradForm* avx512_bf16_winograd() {
  const bool has_all = avx512_winograd(ImageNumbers::kBfloat16) != nullptr &&
                       __builtin_cpu_supports("avx512bf16") > 0;
  return has_all ? &kForm : nullptr;
}

}  // namespace tandem::kernels
#else
namespace tandem::kernels {
const WinogradForm* avx512_bf16_winograd() { return nullptr; }
}  // namespace tandem::kernels
#endif
