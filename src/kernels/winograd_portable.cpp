#include "winograd_loops.hpp"

namespace tandem::kernels {
namespace {

struct Fp32 : Fp32Products<4, 2> {};
// As of the forms for AVX-512.
struct WideFp32 : Fp32Products<16, 4> {};
struct WideBf16 : Bf16Products<16, 4> {};

constexpr WinogradForm kForms[] = {
    WinogradLoops<Fp32, float, F4>::form("portable"),
    WinogradLoops<Fp32, std::uint16_t, F4>::form("portable, of bf16"),
    WinogradLoops<WideFp32, float, F4>::form("portable, wide"),
    WinogradLoops<WideBf16, std::uint16_t, F2>::form("portable, wide, bf16"),
};

}  // namespace

std::vector<const WinogradForm*> portable_winograd_forms() {
  std::vector<const WinogradForm*> forms;
  for (const WinogradForm& form : kForms) forms.push_back(&form);
  return forms;
}

}  // namespace tandem::kernels
