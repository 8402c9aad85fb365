#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/cpu_clones.hpp"
#include "tandem/kernels/normalization.hpp"

namespace tandem::kernels {

TANDEM_CLONES void normalized(const std::uint16_t* __restrict in, PixelRows size, Normalization to,
                              std::uint16_t* __restrict out) {
  const auto [pixels, channels] = size;
  const float* __restrict scale = to.scale;
  const float* __restrict shift = to.shift;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      out[c] = bfloat16_of_float(float_of_bfloat16(in[c]) * scale[c] + shift[c]);
    }
    in += channels;
    out += channels;
  }
}

TANDEM_CLONES void normalized_relu_of_sum(const std::uint16_t* __restrict in,
                                          const std::uint16_t* __restrict residual, PixelRows size,
                                          Normalization to, std::uint16_t* __restrict out) {
  const auto [pixels, channels] = size;
  const float* __restrict scale = to.scale;
  const float* __restrict shift = to.shift;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float value =
          float_of_bfloat16(in[c]) * scale[c] + shift[c] + float_of_bfloat16(residual[c]);
      out[c] = bfloat16_of_float(value < 0 ? 0 : value);
    }
    in += channels;
    residual += channels;
    out += channels;
  }
}

TANDEM_CLONES void add_all_gradient_sums(LayerGradient layer, PixelRows size, ChannelSums sums) {
  const auto [pixels, channels] = size;
  const std::uint16_t* __restrict in = layer.in;
  const std::uint16_t* __restrict gradient = layer.gradient;
  const float* __restrict mean = sums.mean;
  float* __restrict sum = sums.sum;
  float* __restrict product = sums.product;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float above = float_of_bfloat16(gradient[c]);
      sum[c] += above;
      product[c] += above * (float_of_bfloat16(in[c]) - mean[c]);
    }
    in += channels;
    gradient += channels;
  }
}

TANDEM_CLONES void pass_relu_gradient(LayerGradient layer, const std::uint16_t* __restrict result,
                                      PixelRows size, std::uint16_t* __restrict passed,
                                      ChannelSums sums) {
  const auto [pixels, channels] = size;
  const std::uint16_t* __restrict in = layer.in;
  const std::uint16_t* __restrict gradient = layer.gradient;
  const float* __restrict mean = sums.mean;
  float* __restrict sum = sums.sum;
  float* __restrict product = sums.product;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      const std::uint16_t bits = float_of_bfloat16(result[c]) <= 0 ? std::uint16_t{0} : gradient[c];
      passed[c] = bits;
      sum[c] += float_of_bfloat16(bits);
      product[c] += float_of_bfloat16(bits) * (float_of_bfloat16(in[c]) - mean[c]);
    }
    in += channels;
    gradient += channels;
    result += channels;
    passed += channels;
  }
}

TANDEM_CLONES void corrected_gradient(LayerGradient layer, PixelRows size,
                                      const float* __restrict scale, Correction correction,
                                      std::uint16_t* __restrict out) {
  const auto [pixels, channels] = size;
  const std::uint16_t* __restrict in = layer.in;
  const std::uint16_t* __restrict gradient = layer.gradient;
  const float* __restrict slope = correction.slope;
  const float* __restrict offset = correction.offset;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      out[c] = bfloat16_of_float(scale[c] * float_of_bfloat16(gradient[c]) +
                                 slope[c] * float_of_bfloat16(in[c]) + offset[c]);
    }
    in += channels;
    gradient += channels;
    out += channels;
  }
}

}  // namespace tandem::kernels
