#include "tandem/kernels/normalization.hpp"

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

TANDEM_CLONES void channel_moments(const std::uint16_t* __restrict in, std::size_t pixels,
                                   std::size_t channels, float* __restrict mean,
                                   float* __restrict squares) {
  for (std::size_t c = 0; c < channels; ++c) mean[c] = squares[c] = 0;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) mean[c] += float_of_bfloat16(in[p * channels + c]);
  }
  for (std::size_t c = 0; c < channels; ++c) mean[c] /= static_cast<float>(pixels);
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float difference = float_of_bfloat16(in[p * channels + c]) - mean[c];
      squares[c] += difference * difference;
    }
  }
}

TANDEM_CLONES void normalized_relu(const std::uint16_t* __restrict in, std::size_t pixels,
                                   std::size_t channels, Normalization to,
                                   std::uint16_t* __restrict out) {
  const float* __restrict scale = to.scale;
  const float* __restrict shift = to.shift;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float value = float_of_bfloat16(in[p * channels + c]) * scale[c] + shift[c];
      out[p * channels + c] = bfloat16_of_float(value < 0 ? 0 : value);
    }
  }
}

TANDEM_CLONES void pooled_normalized_relu(const std::uint16_t* __restrict in, ImageSize size,
                                          Normalization to, std::uint16_t* __restrict out,
                                          std::uint8_t* __restrict argmax) {
  const auto [height, width, channels] = size;
  const float* __restrict scale = to.scale;
  const float* __restrict shift = to.shift;
  for (std::size_t row = 0; row < height / 2; ++row) {
    for (std::size_t column = 0; column < width / 2; ++column) {
      const std::uint16_t* p0 = in + (2 * row * width + 2 * column) * channels;
      const std::uint16_t* p1 = p0 + channels;
      const std::uint16_t* p2 = p0 + width * channels;
      const std::uint16_t* p3 = p2 + channels;
      for (std::size_t c = 0; c < channels; ++c) {
        const float values[] = {float_of_bfloat16(p0[c]) * scale[c] + shift[c],
                                float_of_bfloat16(p1[c]) * scale[c] + shift[c],
                                float_of_bfloat16(p2[c]) * scale[c] + shift[c],
                                float_of_bfloat16(p3[c]) * scale[c] + shift[c]};
        float best = 0;
        std::uint32_t which = 4;
        for (std::uint32_t k = 0; k < 4; ++k) {
          const bool better = (values[k] > best) | (values[k] != values[k]);
          best = better ? values[k] : best;
          which = better ? k : which;
        }
        out[c] = bfloat16_of_float(best);
        argmax[c] = static_cast<std::uint8_t>(which);
      }
      out += channels;
      argmax += channels;
    }
  }
}

TANDEM_CLONES void add_gradient_sums(LayerGradient layer, std::size_t pixels, std::size_t channels,
                                     Normalization to, ChannelSums sums) {
  const std::uint16_t* __restrict in = layer.in;
  const std::uint16_t* __restrict gradient = layer.gradient;
  const float* __restrict mean = sums.mean;
  float* __restrict sum = sums.sum;
  float* __restrict product = sums.product;
  const float* __restrict scale = to.scale;
  const float* __restrict shift = to.shift;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float x = float_of_bfloat16(in[p * channels + c]);
      const float above = float_of_bfloat16(gradient[p * channels + c]);
      const float passed = x * scale[c] + shift[c] <= 0 ? 0 : above;
      sum[c] += passed;
      product[c] += passed * (x - mean[c]);
    }
  }
}

TANDEM_CLONES void add_pooled_gradient_sums(LayerGradient layer, ImageSize size, ChannelSums sums) {
  const auto [height, width, channels] = size;
  const std::uint16_t* __restrict in = layer.in;
  const std::uint16_t* __restrict gradient = layer.gradient;
  const std::uint8_t* __restrict argmax = layer.argmax;
  const float* __restrict mean = sums.mean;
  float* __restrict sum = sums.sum;
  float* __restrict product = sums.product;
  for (std::size_t row = 0; row < height / 2; ++row) {
    for (std::size_t column = 0; column < width / 2; ++column) {
      const std::uint16_t* p0 = in + (2 * row * width + 2 * column) * channels;
      const std::uint16_t* p1 = p0 + channels;
      const std::uint16_t* p2 = p0 + width * channels;
      const std::uint16_t* p3 = p2 + channels;
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint32_t which = argmax[c];
        const std::uint32_t upper = which == 0 ? p0[c] : p1[c];
        const std::uint32_t lower = which == 2 ? p2[c] : p3[c];
        const std::uint32_t bits = which < 2 ? upper : lower;
        const float x = float_of_bfloat16(static_cast<std::uint16_t>(bits));
        const float above = float_of_bfloat16(gradient[c]);
        const float passed = which == 4 ? 0 : above;
        sum[c] += passed;
        product[c] += passed * (x - mean[c]);
      }
      gradient += channels;
      argmax += channels;
    }
  }
}

TANDEM_CLONES void normalized_gradient(LayerGradient layer, std::size_t pixels,
                                       std::size_t channels, Normalization to,
                                       Correction correction, std::uint16_t* __restrict out) {
  const std::uint16_t* __restrict in = layer.in;
  const std::uint16_t* __restrict gradient = layer.gradient;
  const float* __restrict scale = to.scale;
  const float* __restrict shift = to.shift;
  const float* __restrict slope = correction.slope;
  const float* __restrict offset = correction.offset;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float x = float_of_bfloat16(in[p * channels + c]);
      const float above = float_of_bfloat16(gradient[p * channels + c]);
      const float passed = x * scale[c] + shift[c] <= 0 ? 0 : above;
      out[p * channels + c] = bfloat16_of_float(scale[c] * passed + slope[c] * x + offset[c]);
    }
  }
}

TANDEM_CLONES void pooled_normalized_gradient(LayerGradient layer, ImageSize size, Normalization to,
                                              Correction correction,
                                              std::uint16_t* __restrict out) {
  const auto [height, width, channels] = size;
  const std::uint16_t* __restrict in = layer.in;
  const std::uint16_t* __restrict gradient = layer.gradient;
  const std::uint8_t* __restrict argmax = layer.argmax;
  const float* __restrict scale = to.scale;
  const float* __restrict slope = correction.slope;
  const float* __restrict offset = correction.offset;
  for (std::size_t row = 0; row < height; ++row) {
    for (std::size_t column = 0; column < width; ++column) {
      const std::size_t pixel = (row * width + column) * channels;
      // The last line of an odd size was not pooled.
      const bool is_pooled = row / 2 < height / 2 && column / 2 < width / 2;
      const std::size_t pooled = is_pooled ? (row / 2 * (width / 2) + column / 2) * channels : 0;
      const std::uint32_t here =
          is_pooled ? static_cast<std::uint32_t>(row % 2 * 2 + column % 2) : 5;
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint32_t which = argmax[pooled + c];
        const float above = float_of_bfloat16(gradient[pooled + c]);
        const float passed = which == here ? above : 0;
        const float x = float_of_bfloat16(in[pixel + c]);
        out[pixel + c] = bfloat16_of_float(scale[c] * passed + slope[c] * x + offset[c]);
      }
    }
  }
}

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
  float slopes[kChannelsAtOnce];
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t first = 0; first < channels; first += kChannelsAtOnce) {
      const std::size_t some = std::min(kChannelsAtOnce, channels - first);
      normalize(in + first, some, to.scale + first, to.shift + first, normalized);
      for (std::size_t i = 0; i < some; ++i) slopes[i] = slope[normalized[i]];
      for (std::size_t i = 0; i < some; ++i) {
        const std::size_t c = first + i;
        const std::uint16_t bits = bfloat16_of_float(float_of_bfloat16(gradient[c]) * slopes[i]);
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
