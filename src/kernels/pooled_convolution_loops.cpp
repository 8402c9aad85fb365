#include "pooled_convolution_loops.hpp"

#include <cstring>

#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/cpu_clones.hpp"
#include "tandem/kernels/pooled_convolution.hpp"

namespace tandem::kernels {
namespace {

constexpr std::size_t kSide = PooledConvolutionSizes::kSide;

// Vectors as GCC and Clang know them, on every processor: what it lacks is done in parts.
template <std::size_t kLanes>
struct Vectors {
  typedef float Floats __attribute__((vector_size(4 * kLanes)));
};

// Inlined, because vectors that processors lack have no agreed way to be passed.
template <class Vector, class Number>
[[gnu::always_inline]] inline void load(Vector& vector, const Number* from) {
  std::memcpy(&vector, from, sizeof vector);
}

// The sums of a filter for the four results of each pooling window.
template <class Floats>
struct WindowSums {
  Floats upper_even = {}, upper_odd = {}, lower_even = {}, lower_odd = {};

  // At `to`, and then `apart` floats from one to the next.
  [[gnu::always_inline]] void store(std::size_t apart, float* to) const {
    std::memcpy(to, &upper_even, sizeof(Floats));
    std::memcpy(to + apart, &upper_odd, sizeof(Floats));
    std::memcpy(to + 2 * apart, &lower_even, sizeof(Floats));
    std::memcpy(to + 3 * apart, &lower_odd, sizeof(Floats));
  }
};

// A line of an image: its even columns and its odd ones, each from three offsets.
template <class Floats>
struct Line {
  Floats e0, e1, e2, o0, o1, o2;

  [[gnu::always_inline]] Line(const float* even, const float* odd) {
    load(e0, even);
    load(e1, even + 1);
    load(e2, even + 2);
    load(o0, odd);
    load(o1, odd + 1);
    load(o2, odd + 2);
  }
  // Adds its products with a line of a filter.
  [[gnu::always_inline]] void add(const float* w, Floats& of_even, Floats& of_odd) const {
    of_even = of_even + w[0] * e0 + w[1] * o0 + w[2] * e1 + w[3] * o1 + w[4] * e2;
    of_odd = of_odd + w[0] * o0 + w[1] * e1 + w[2] * o1 + w[3] * e2 + w[4] * o2;
  }
};

// Each line of the image is read once: the upper results take it with one line of the filters, the
// lower ones with the line before.
template <std::size_t kLanes>
[[gnu::always_inline]] inline void convolve(const SplitPlanes& in, const FilterPair& filters,
                                            std::size_t apart, float* out) {
  static_assert(kFiltersAtOnce == 2);
  using Floats = typename Vectors<kLanes>::Floats;
  constexpr std::size_t kFilterLine = kFiltersAtOnce * kSide;
  WindowSums<Floats> first, second;
  for (std::size_t channel = 0; channel < filters.channels; ++channel) {
    const float* w = filters.lines + channel * kSide * kFilterLine;
    const float* even = in.even + channel * in.channel;
#pragma GCC unroll 6
    for (std::size_t row = 0; row <= kSide; ++row, even += in.line) {
      const Line<Floats> line(even, even + in.odd);
      if (row < kSide) {
        line.add(w, first.upper_even, first.upper_odd);
        line.add(w + kSide, second.upper_even, second.upper_odd);
      }
      if (row > 0) {
        line.add(w - kFilterLine, first.lower_even, first.lower_odd);
        line.add(w - kFilterLine + kSide, second.lower_even, second.lower_odd);
      }
      w += kFilterLine;
    }
  }
  first.store(apart, out);
  second.store(apart, out + 4 * apart);
}

// A multiple of kWideLanes numbers of a line at a time, so the order of sums does not depend on
// the lanes.
template <std::size_t kLanes>
[[gnu::always_inline]] inline void add_filter_gradient(const float* __restrict image,
                                                       std::size_t line,
                                                       const PatchGradients& patches,
                                                       std::size_t filter_line,
                                                       float* __restrict sums) {
  using Floats = typename Vectors<kLanes>::Floats;
  constexpr std::size_t kVectors = kWideLanes / kLanes;
  const std::uint32_t* __restrict place = patches.place;
  const float* __restrict gradients = patches.gradients;
  const std::size_t size = patches.size;
  float* bias = sums + kSide * filter_line;
  for (std::size_t k = 0; k < size; k += kWideLanes) {
    for (std::size_t i = 0; i < kWideLanes; ++i) bias[i] += gradients[k + i];
  }
  for (std::size_t part = 0; part < filter_line; part += kWideLanes) {
    Floats sum[kSide][kVectors];
    for (std::size_t row = 0; row < kSide; ++row) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        load(sum[row][v], sums + row * filter_line + part + v * kLanes);
      }
    }
    for (std::size_t k = 0; k < size; ++k) {
      const float* patch = image + place[k] + part;
      for (std::size_t row = 0; row < kSide; ++row) {
        for (std::size_t v = 0; v < kVectors; ++v) {
          Floats pixels;
          load(pixels, patch + row * line + v * kLanes);
          sum[row][v] += gradients[k] * pixels;
        }
      }
    }
    for (std::size_t row = 0; row < kSide; ++row) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        std::memcpy(sums + row * filter_line + part + v * kLanes, &sum[row][v], sizeof(Floats));
      }
    }
  }
}

}  // namespace

bool has_wide_vectors() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") > 0;
#else
  return false;
#endif
}

TANDEM_CLONES void convolve_narrow(const SplitPlanes& in, const FilterPair& filters,
                                   std::size_t apart, float* out) {
  convolve<kNarrowLanes>(in, filters, apart, out);
}

TANDEM_CLONES void convolve_wide(const SplitPlanes& in, const FilterPair& filters,
                                 std::size_t apart, float* out) {
  convolve<kWideLanes>(in, filters, apart, out);
}

TANDEM_CLONES void pool(float* __restrict results, std::size_t size, float bias, bool rounds,
                        float* __restrict out, std::int32_t* __restrict argmax) {
  for (std::size_t i = 0; i < 4 * size; ++i) results[i] += bias;
  if (rounds) {
    for (std::size_t i = 0; i < 4 * size; ++i) {
      results[i] = float_of_bfloat16(bfloat16_of_float(results[i]));
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = 0;  // ReLU
    argmax[i] = PooledConvolution::kNone;
  }
  for (std::int32_t place = 0; place < 4; ++place) {
    const float* candidates = results + static_cast<std::size_t>(place) * size;
    for (std::size_t i = 0; i < size; ++i) {
      const bool better = (candidates[i] > out[i]) | (candidates[i] != candidates[i]);
      out[i] = better ? candidates[i] : out[i];
      argmax[i] = better ? place : argmax[i];
    }
  }
}

TANDEM_CLONES void split_line(const float* __restrict in, std::size_t stride, std::size_t size,
                              float* __restrict even, float* __restrict odd) {
  for (std::size_t i = 0; i < size / 2; ++i) {
    even[i] = in[2 * i * stride];
    odd[i] = in[(2 * i + 1) * stride];
  }
  if (size % 2 != 0) even[size / 2] = in[(size - 1) * stride];
}

TANDEM_CLONES void round_line(float* line, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) line[i] = float_of_bfloat16(bfloat16_of_float(line[i]));
}

TANDEM_CLONES void add_filter_gradient_narrow(const float* __restrict image, std::size_t line,
                                              const PatchGradients& patches,
                                              std::size_t filter_line, float* __restrict sums) {
  add_filter_gradient<kNarrowLanes>(image, line, patches, filter_line, sums);
}

TANDEM_CLONES void add_filter_gradient_wide(const float* __restrict image, std::size_t line,
                                            const PatchGradients& patches, std::size_t filter_line,
                                            float* __restrict sums) {
  add_filter_gradient<kWideLanes>(image, line, patches, filter_line, sums);
}

TANDEM_CLONES void choose(const std::uint8_t* __restrict argmax, const float* __restrict gradients,
                          const std::uint32_t* __restrict corner, std::size_t line,
                          std::size_t channels, const PatchGradients& out) {
  std::uint32_t* __restrict place = out.place;
  float* __restrict chosen = out.gradients;
  const std::size_t size = out.size;
  const auto down = static_cast<std::uint32_t>(line);
  const auto right = static_cast<std::uint32_t>(channels);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t which = argmax[i];
    place[i] = corner[i] + ((which & 2U) != 0 ? down : 0) + ((which & 1U) != 0 ? right : 0);
    chosen[i] = which == PooledConvolution::kNone ? 0 : gradients[i];
  }
}

TANDEM_CLONES void add_to_window(const PooledPixel& pixel, const float* __restrict shifted,
                                 std::size_t window_line, float* __restrict window) {
  const std::size_t size = kSide * window_line;
  for (std::size_t filter = 0; filter < pixel.filters; ++filter) {
    const std::uint8_t which = pixel.argmax[filter * pixel.apart];
    if (which == PooledConvolution::kNone) continue;
    const float gradient = pixel.gradients[filter * pixel.apart];
    const float* from = shifted + ((which & 1U) * pixel.filters + filter) * size;
    float* to = window + (which >> 1U) * window_line;
    for (std::size_t i = 0; i < size; ++i) to[i] += gradient * from[i];
  }
}

TANDEM_CLONES void add_line(const float* __restrict from, std::size_t size, float* __restrict to) {
  for (std::size_t i = 0; i < size; ++i) to[i] += from[i];
}

}  // namespace tandem::kernels
