#include "winograd_form.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <cstdint>
#include <cstring>

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,fma")
#include "winograd_loops.hpp"

namespace tandem::kernels {
namespace {

// 24 of 32 registers hold sums.
struct Avx512 : Fp32Products<16, 4> {};

constexpr WinogradForm kFp32 = WinogradLoops<Avx512, float, F4>::form("AVX-512");
constexpr WinogradForm kBf16 = WinogradLoops<Avx512, std::uint16_t, F4>::form("AVX-512, of bf16");

}  // namespace
}  // namespace tandem::kernels
#pragma GCC pop_options

namespace tandem::kernels {

const WinogradForm* avx512_winograd(ImageNumbers numbers) {
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("fma")) {
    return nullptr;
  }
  return numbers == ImageNumbers::kFp32 ? &kFp32 : &kBf16;
}

}  // namespace tandem::kernels
#else
namespace tandem::kernels {
const WinogradForm* avx512_winograd(ImageNumbers) { return nullptr; }
}  // namespace tandem::kernels
#endif
