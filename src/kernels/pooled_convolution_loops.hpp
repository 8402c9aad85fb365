// The inner loops of PooledConvolution.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

constexpr std::size_t kFiltersAtOnce = 2;  // whose 8 sums, and what they need, fit into registers
constexpr std::size_t kNarrowLanes = 8;    // pooled results computed together
constexpr std::size_t kWideLanes = 16;

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

// Of one filter's pooled results: where the patch that each was chosen from begins, given the
// `corner` of the first of the four, and the gradient that ReLU passes on.
void choose(const std::uint8_t* argmax, const float* gradients, const std::uint32_t* corner,
            std::size_t size, std::size_t line, std::size_t channels, std::uint32_t* place,
            float* chosen);

// Adds what one filter gets from `size` results. Of each, `place` is where its patch begins in
// `image`, whose lines are `line` apart. `gradients`: followed by zeros to a multiple of
// kWideLanes. `sums`: 5 x filter_line, a multiple of kWideLanes, and kWideLanes numbers whose sum
// is the bias's.
void add_filter_gradient(const float* image, std::size_t line, const std::uint32_t* place,
                         const float* gradients, std::size_t size, std::size_t filter_line,
                         float* sums);

// Adds what all filters send back from one pooled pixel. `gradients` and `argmax` of two filters
// are `apart`; `shifted`: shift x filters x 5 x window_line; `window`: 6 x window_line.
void add_to_window(const float* gradients, const std::uint8_t* argmax, std::size_t apart,
                   std::size_t filters, const float* shifted, std::size_t window_line,
                   float* window);

// to += from.
void add_line(const float* from, std::size_t size, float* to);

}  // namespace tandem::kernels
