#include "winograd_form.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <cstdint>
#include <cstring>

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#include "winograd_loops.hpp"

namespace tandem::kernels {
namespace {

// 12 of 16 registers hold sums.
struct Avx2 : Fp32Products<8, 2> {};

constexpr WinogradForm kFp32 = WinogradLoops<Avx2, float, F4>::form("AVX2");
constexpr WinogradForm kBf16 = WinogradLoops<Avx2, std::uint16_t, F4>::form("AVX2, of bf16");

}  // namespace
}  // namespace tandem::kernels
#pragma GCC pop_options

namespace tandem::kernels {

const WinogradForm* avx2_winograd(ImageNumbers numbers) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return nullptr;
  return numbers == ImageNumbers::kFp32 ? &kFp32 : &kBf16;
}

}  // namespace tandem::kernels
#else
namespace tandem::kernels {
const WinogradForm* avx2_winograd(ImageNumbers) { return nullptr; }
}  // namespace tandem::kernels
#endif
