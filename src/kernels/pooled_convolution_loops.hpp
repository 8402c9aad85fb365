// The inner loops of PooledConvolution.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

constexpr std::size_t kFiltersAtOnce = 2;
// Numbers computed together. The sums of kFiltersAtOnce filters fit into the registers of AVX2 in
// narrow vectors, and into those of AVX-512 in both.
constexpr std::size_t kNarrowLanes = 8;
constexpr std::size_t kWideLanes = 16;
// Whether this processor has vectors of kWideLanes.
bool has_wide_vectors();

// The planes of an image, even columns apart from odd ones, so that a vector of pooled results is
// compared lane by lane.
struct SplitPlanes {
  const float* even = nullptr;
  std::size_t odd = 0;      // from an even column to the odd one after it
  std::size_t channel = 0;  // from plane to plane
  std::size_t line = 0;     // from line to line
};

// Two filters; of each a channel, row and column: kFiltersAtOnce x 5 numbers for each line.
struct FilterPair {
  const float* lines = nullptr;
  std::size_t channels = 0;
};

// What kNarrowLanes or kWideLanes pooled results are chosen from, the first at the start of `in`.
// `out`: kFiltersAtOnce x (upper line, even and odd columns, and lower line) x lanes, of which each
// vector is `apart` from the one before.
void convolve_narrow(const SplitPlanes& in, const FilterPair& filters, std::size_t apart,
                     float* out);
void convolve_wide(const SplitPlanes& in, const FilterPair& filters, std::size_t apart, float* out);

// The largest of 4 x size results with their bias, and its place, as PooledConvolution says;
// overwrites the results.
void pool(float* results, std::size_t size, float bias, bool rounds, float* out,
          std::int32_t* argmax);

// Numbers that are `stride` apart, those of even and of odd places.
void split_line(const float* in, std::size_t stride, std::size_t size, float* even, float* odd);

// Rounds to bfloat16, in place.
void round_line(float* line, std::size_t size);

// The `size` pooled results of one filter. `place`: where the patch begins that the maximum comes
// from. `gradients`: those that ReLU passes, followed by zeros to a multiple of kWideLanes.
struct PatchGradients {
  std::uint32_t* place = nullptr;
  float* gradients = nullptr;
  std::size_t size = 0;
};

// Fills `out`, given the `corner` of the first of the four patches of each result. Patches of two
// lines are `line` apart, those of two columns `channels`.
void choose(const std::uint8_t* argmax, const float* gradients, const std::uint32_t* corner,
            std::size_t line, std::size_t channels, const PatchGradients& out);

// Adds the gradient of one filter. The lines of `image` are `line` apart. `sums`: 5 x filter_line,
// a multiple of kWideLanes, and kWideLanes numbers whose sum is the bias's.
void add_filter_gradient_narrow(const float* image, std::size_t line, const PatchGradients& patches,
                                std::size_t filter_line, float* sums);
void add_filter_gradient_wide(const float* image, std::size_t line, const PatchGradients& patches,
                              std::size_t filter_line, float* sums);

// One pooled pixel. Values of two filters are `apart`.
struct PooledPixel {
  const float* gradients = nullptr;
  const std::uint8_t* argmax = nullptr;
  std::size_t apart = 0;
  std::size_t filters = 0;
};

// Adds the gradients that all filters send back from one pooled pixel. `shifted`: shift x filters x
// 5 x window_line; `window`: 6 x window_line.
void add_to_window(const PooledPixel& pixel, const float* shifted, std::size_t window_line,
                   float* window);

// to += from.
void add_line(const float* from, std::size_t size, float* to);

}  // namespace tandem::kernels
