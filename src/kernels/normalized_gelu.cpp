#include "tandem/kernels/normalized_gelu.hpp"

#include <algorithm>

#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/cpu_clones.hpp"

namespace tandem::kernels {
namespace {

// Normalized apart from the look-up, by 32 bits: compilers make vector instructions of neither
// where they are one loop.
constexpr std::size_t kChannelsAtOnce = 256;

inline void normalize(const std::uint16_t* __restrict in, std::size_t size,
                      const float* __restrict scale, const float* __restrict shift,
                      std::int32_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = bfloat16_of_float(float_of_bfloat16(in[i]) * scale[i] + shift[i]);
  }
}

}  // namespace

TANDEM_CLONES void normalized_gelu(const GeluTables& tables, const std::uint16_t* __restrict in,
                                   std::size_t pixels, std::size_t channels, Normalization to,
                                   std::uint16_t* __restrict out) {
  const std::uint16_t* __restrict value = tables.value.data();
  std::int32_t normalized[kChannelsAtOnce];
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t first = 0; first < channels; first += kChannelsAtOnce) {
      const std::size_t some = std::min(kChannelsAtOnce, channels - first);
      normalize(in + first, some, to.scale + first, to.shift + first, normalized);
      for (std::size_t i = 0; i < some; ++i) out[first + i] = value[normalized[i]];
    }
    in += channels;
    out += channels;
  }
}

TANDEM_CLONES void normalized_gelu_gradient(const GeluTables& tables, LayerGradient layer,
                                            PixelRows size, Normalization to,
                                            std::uint16_t* __restrict passed, ChannelSums sums) {
  const auto [pixels, channels] = size;
  const std::uint16_t* __restrict in = layer.in;
  const std::uint16_t* __restrict gradient = layer.gradient;
  const float* __restrict mean = sums.mean;
  float* __restrict sum = sums.sum;
  float* __restrict product = sums.product;
  const float* __restrict slope = tables.slope.data();
  std::int32_t normalized[kChannelsAtOnce];
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t first = 0; first < channels; first += kChannelsAtOnce) {
      const std::size_t some = std::min(kChannelsAtOnce, channels - first);
      normalize(in + first, some, to.scale + first, to.shift + first, normalized);
      for (std::size_t i = 0; i < some; ++i) {
        const std::size_t c = first + i;
        const std::uint16_t bits =
            bfloat16_of_float(float_of_bfloat16(gradient[c]) * slope[normalized[i]]);
        passed[c] = bits;
        sum[c] += float_of_bfloat16(bits);
        product[c] += float_of_bfloat16(bits) * (float_of_bfloat16(in[c]) - mean[c]);
      }
    }
    in += channels;
    gradient += channels;
    passed += channels;
  }
}

TANDEM_CLONES void correct_gradient(const std::uint16_t* __restrict in, std::size_t pixels,
                                    std::size_t channels, const float* __restrict scale,
                                    Correction correction, std::uint16_t* __restrict gradient) {
  const float* __restrict slope = correction.slope;
  const float* __restrict offset = correction.offset;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      gradient[c] = bfloat16_of_float(scale[c] * float_of_bfloat16(gradient[c]) +
                                      slope[c] * float_of_bfloat16(in[c]) + offset[c]);
    }
    in += channels;
    gradient += channels;
  }
}

}  // namespace tandem::kernels
