#include "tandem/kernels/planes.hpp"

#include <vector>

#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/cpu_clones.hpp"

namespace tandem::kernels {
namespace {

TANDEM_CLONES void round_all(const float* __restrict in, std::size_t size,
                             std::uint16_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = bfloat16_of_float(in[i]);
}

TANDEM_CLONES void widen_all(const std::uint16_t* __restrict in, std::size_t size,
                             float* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = float_of_bfloat16(in[i]);
}

}  // namespace

// Rounded in whole vectors, then dealt out one by one.
void pixels_of_planes(const float* planes, std::size_t channels, std::size_t pixels,
                      std::uint16_t* out) {
  std::vector<std::uint16_t> bits(channels * pixels);
  round_all(planes, bits.size(), bits.data());
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      *out++ = bits[channel * pixels + pixel];
    }
  }
}

void planes_of_pixels(const std::uint16_t* in, std::size_t channels, std::size_t pixels,
                      float* planes) {
  std::vector<std::uint16_t> bits(channels * pixels);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      bits[channel * pixels + pixel] = *in++;
    }
  }
  widen_all(bits.data(), bits.size(), planes);
}

}  // namespace tandem::kernels
