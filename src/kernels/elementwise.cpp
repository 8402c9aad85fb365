#include "tandem/kernels/elementwise.hpp"

#include <algorithm>
#include <vector>

#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/cpu_clones.hpp"

namespace tandem::kernels {
namespace {

constexpr std::uint16_t kSign = 0x8000, kMinusInfinity = 0xFF80;

TANDEM_CLONES void round_all(const float* __restrict in, std::size_t size,
                             std::uint16_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = bfloat16_of_float(in[i]);
}

TANDEM_CLONES void widen_all(const std::uint16_t* __restrict in, std::size_t size,
                             float* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = float_of_bfloat16(in[i]);
}

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

TANDEM_CLONES void max_pool(const std::uint16_t* __restrict in, std::size_t height,
                            std::size_t width, std::size_t channels, std::uint16_t* __restrict out,
                            std::uint8_t* __restrict argmax) {
  for (std::size_t row = 0; row < height / 2; ++row) {
    for (std::size_t column = 0; column < width / 2; ++column) {
      const std::uint16_t* p0 = in + (2 * row * width + 2 * column) * channels;
      const std::uint16_t* p1 = p0 + channels;
      const std::uint16_t* p2 = p0 + width * channels;
      const std::uint16_t* p3 = p2 + channels;
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint32_t bits[] = {p0[c], p1[c], p2[c], p3[c]};
        std::uint32_t best = bits[0], which = 0;
        for (std::uint32_t k = 1; k < 4; ++k) {
          const float value = float_of_bfloat16(static_cast<std::uint16_t>(bits[k]));
          const bool better =
              (value > float_of_bfloat16(static_cast<std::uint16_t>(best))) | (value != value);
          best = better ? bits[k] : best;
          which = better ? k : which;
        }
        out[c] = static_cast<std::uint16_t>(best);
        argmax[c] = static_cast<std::uint8_t>(which);
      }
      out += channels;
      argmax += channels;
    }
  }
}

TANDEM_CLONES void max_pool_gradient(const std::uint16_t* __restrict gradient,
                                     const std::uint8_t* __restrict argmax, std::size_t height,
                                     std::size_t width, std::size_t channels,
                                     std::uint16_t* __restrict out) {
  const std::size_t line = width * channels;
  for (std::size_t row = 0; row < height / 2; ++row) {
    std::uint16_t* upper = out + 2 * row * line;
    for (std::size_t column = 0; column < width / 2; ++column) {
      for (std::size_t k = 0; k < 4; ++k) {
        std::uint16_t* to = upper + k / 2 * line + (2 * column + k % 2) * channels;
        for (std::size_t c = 0; c < channels; ++c) {
          to[c] = argmax[c] == k ? gradient[c] : std::uint16_t{0};
        }
      }
      gradient += channels;
      argmax += channels;
    }
    if (width % 2 == 1) {
      std::fill_n(upper + line - channels, channels, std::uint16_t{0});
      std::fill_n(upper + 2 * line - channels, channels, std::uint16_t{0});
    }
  }
  if (height % 2 == 1) std::fill_n(out + (height - 1) * line, line, std::uint16_t{0});
}

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
