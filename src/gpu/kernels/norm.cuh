// Batch normalization fused with 2x2 max pooling, an added residual and an activation: what forward
// and backward share. See NormArguments for the shape of the blocks.
#pragma once

#include "common.cuh"

namespace tandem::gpu {

constexpr float kRootOfHalf = 0.70710678118654752440F;
constexpr float kDensityAtZero = 0.39894228040143267794F;  // 1 / sqrt(2 pi)
constexpr float kLogOfE = 1.44269504088896340736F;         // to base 2

// GELU is v * share.
struct GeluParts {
  float share;    // of the normal distribution below v
  float density;  // of it at v
};

template <class T>
__device__ inline GeluParts gelu_parts(float v) {
  const float density = fast_exp2(-0.5F * kLogOfE * (v * v));
  // Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26: 1 - erf(z) to 1.5e-7, far
  // less than T rounds. It needs the exponential that the density is made of.
  const float t = fast_reciprocal(fmaf(0.3275911F * kRootOfHalf, fabsf(v), 1.0F));
  float tail = fmaf(t, 0.5F * 1.061405429F, 0.5F * -1.453152027F);
  tail = fmaf(t, tail, 0.5F * 1.421413741F);
  tail = fmaf(t, tail, 0.5F * -0.284496736F);
  tail = fmaf(t, tail, 0.5F * 0.254829592F);
  tail = tail * t * density;
  return {v < 0 ? tail : 1.0F - tail, kDensityAtZero * density};
}
template <>
__device__ inline GeluParts gelu_parts<float>(float v) {
  return {0.5F * (1.0F + erff(v * kRootOfHalf)), kDensityAtZero * expf(-0.5F * v * v)};
}

template <class T, int A>
__device__ inline float activated(float v) {
  if (A == kRelu) return v < 0 ? 0.0F : v;  // a NaN passes
  if (A == kGelu) return v * gelu_parts<T>(v).share;
  return v;
}

// The derivative.
template <class T>
__device__ inline float slope_of_gelu(float v) {
  const GeluParts parts = gelu_parts<T>(v);
  return fmaf(v, parts.density, parts.share);
}

// This thread's place in the grid.
template <int V>
struct Place {
  __device__ explicit Place(const NormArguments& a)
      : rows(static_cast<int>(blockDim.x) / a.lanes),
        lane(static_cast<int>(threadIdx.x) % a.lanes),
        row(static_cast<int>(threadIdx.x) / a.lanes),
        tile(static_cast<int>(blockIdx.y) * a.lanes * V),
        channel(tile + lane * V),
        is_used(channel < a.channels),
        first(static_cast<int>(blockIdx.x) * rows + row),
        step(static_cast<int>(gridDim.x) * rows) {}
  // Of the place's first channel in an item.
  __device__ Long at(const NormArguments& a, int item) const {
    return static_cast<Long>(item) * a.channels + channel;
  }
  int rows, lane, row;
  int tile;      // the first channel of the block
  int channel;   // the first of V
  bool is_used;  // some threads have no channel
  int first, step;  // of the items, of which there are fewer than 2^30
};

// Calls use(item, load(item)) for this thread's items. load() reads U of them at a time, because a
// thread that waits for each one leaves most of the memory's speed unused. Behind the end it reads
// the last one again, because a branch would wait, too.
template <int U, int V, class Load, class Use>
__device__ inline void for_each_item(const Place<V>& place, int items, const Load& load,
                                     const Use& use) {
  for (int first = place.first; first < items; first += U * place.step) {
    decltype(load(first)) loaded[U];
    TANDEM_UNROLL
    for (int u = 0; u < U; ++u) {
      const int item = first + u * place.step;
      loaded[u] = load(item < items ? item : items - 1);
    }
    TANDEM_UNROLL
    for (int u = 0; u < U; ++u) {
      if (first + u * place.step < items) use(first + u * place.step, loaded[u]);
    }
  }
}

// The second kernel of a pass starts at the end: the cache still holds what the first one used last.
__device__ inline int from_the_end(int items, int item) { return items - 1 - item; }

// The first value of a 2x2 window of an image, from the number of the window. `round_up`: windows
// that an odd size cuts count, too.
struct Window {
  __device__ Window(const NormArguments& a, int at, bool round_up) {
    const unsigned rows = static_cast<unsigned>(a.height + round_up) / 2;
    const unsigned columns = static_cast<unsigned>(a.width + round_up) / 2;
    const auto number = static_cast<unsigned>(at);
    const unsigned line = number / columns;
    column = static_cast<int>(number - line * columns);
    const unsigned image = line / rows;
    row = static_cast<int>(line - image * rows);
    is_whole = 2 * row + 1 < a.height && 2 * column + 1 < a.width;
    pixel = (static_cast<Long>(image) * a.height + 2 * row) * a.width + 2 * column;
    pooled = (static_cast<Long>(image) * (a.height / 2) + row) * (a.width / 2) + column;
  }
  // Of pixel k: 0 and 1 lie above 2 and 3.
  __device__ Long at(const NormArguments& a, int k) const {
    return pixel + static_cast<Long>(k / 2) * a.width + k % 2;
  }
  __device__ bool has(const NormArguments& a, int k) const {
    return 2 * row + k / 2 < a.height && 2 * column + k % 2 < a.width;
  }
  Long pixel, pooled;
  int row, column;
  bool is_whole;
};

// What normalizes V channels, or with a.factors null only adds the bias.
template <int V>
struct Factors {
  __device__ Factors(const NormArguments& a, int channel) {
    for (int k = 0; k < V; ++k) {
      const bool is_norm = a.factors != nullptr;
      mean[k] = is_norm ? a.factors[channel + k] : 0.0F;
      scale[k] = is_norm ? a.factors[2 * a.channels + channel + k] : 1.0F;
      shift[k] = is_norm ? a.factors[3 * a.channels + channel + k] : a.bias[channel + k];
    }
  }
  __device__ float normalized(int k, float x) const { return fmaf(x, scale[k], shift[k]); }
  float mean[V], scale[V], shift[V];
};

// The number of results: one for each whole window.
__device__ inline int pooled_items(const NormArguments& a) {
  return static_cast<int>(a.images) * (a.height / 2) * (a.width / 2);
}

// Values of V channels at the pixels of a window.
template <class T, int V>
struct Four {
  Pack<T, V> of[4];
};

template <class T, int V>
__device__ inline Four<T, V> load_window(const NormArguments& a, const Window& window,
                                         int channel) {
  Four<T, V> values;
  TANDEM_UNROLL
  for (int k = 0; k < 4; ++k) {
    const Long pixel = window.has(a, k) ? window.at(a, k) : window.pixel;
    values.of[k] = load<V>(static_cast<const T*>(a.x) + pixel * a.channels + channel);
  }
  return values;
}

// Whether a value takes the place of the maximum so far: the first maximum and the last NaN win.
__device__ inline bool wins(float value, float best) { return value > best || value != value; }

// Adds two numbers of each channel over the rows of the block, in a fixed order. sums: first all
// channels of `one`, then all of `other`. one, other: V numbers of each thread.
template <int V>
__device__ inline void add_rows(const NormArguments& a, const Place<V>& place, const float* one,
                                const float* other, float* sums) {
  __shared__ float values[2][kThreads * V];
  const int width = a.lanes * V;
  for (int k = 0; k < V; ++k) {
    values[0][place.row * width + place.lane * V + k] = one[k];
    values[1][place.row * width + place.lane * V + k] = other[k];
  }
  __syncthreads();
  TANDEM_ROLLED
  for (int i = static_cast<int>(threadIdx.x); i < 2 * width; i += kThreads) {
    const float* column = &values[i / width][i % width];
    float sum = 0;
    for (int row = 0; row < place.rows; ++row) sum += column[row * width];
    sums[i] = sum;
  }
}

// The sums of all blocks, in double, in the form of add_rows(). True in the last block of the tile,
// which has them.
template <int V>
__device__ inline bool add_blocks(const NormArguments& a, const Place<V>& place, const float* one,
                                  const float* other, double* whole) {
  constexpr int kQuad = 4;  // neighboring channels
  __shared__ float sums[2 * kMostTile];
  __shared__ double parts[kThreads * kQuad];
  const int width = a.lanes * V;
  add_rows<V>(a, place, one, other, sums);
  TANDEM_ROLLED
  for (int i = static_cast<int>(threadIdx.x); i < 2 * width; i += kThreads) {
    const int channel = place.tile + i % width;
    if (channel >= a.channels) continue;
    a.sums[(2 * static_cast<Long>(blockIdx.x) + i / width) * a.channels + channel] = sums[i];
  }
  if (!is_last_block(a.tickets + blockIdx.y, gridDim.x)) return false;
  const int quads = 2 * width / kQuad;
  const int groups = kThreads / quads;
  const int quad = static_cast<int>(threadIdx.x) % quads;
  const int group = static_cast<int>(threadIdx.x) / quads;
  const int channel = place.tile + quad * kQuad % width;
  double sum[kQuad] = {};
  const float* from = a.sums + static_cast<Long>(quad * kQuad / width) * a.channels + channel;
  const int blocks = channel < a.channels && group < groups ? static_cast<int>(gridDim.x) : 0;
  constexpr int kAtOnce = 8;
  for (int block = group; block < blocks; block += kAtOnce * groups) {
    float loaded[kAtOnce][kQuad] = {};
    for (int u = 0; u < kAtOnce; ++u) {
      if (block + u * groups >= blocks) continue;
      const Long row = 2 * static_cast<Long>(block + u * groups);
      load_past_l1(from + row * a.channels, loaded[u]);
    }
    for (int u = 0; u < kAtOnce; ++u) {
      for (int k = 0; k < kQuad; ++k) sum[k] += loaded[u][k];
    }
  }
  for (int k = 0; k < kQuad; ++k) parts[threadIdx.x * kQuad + k] = sum[k];
  __syncthreads();
  TANDEM_ROLLED
  for (int i = static_cast<int>(threadIdx.x); i < 2 * width; i += kThreads) {
    double all = 0;
    TANDEM_ROLLED
    for (int g = 0; g < groups; ++g) all += parts[g * quads * kQuad + i];
    whole[i] = all;
  }
  __syncthreads();
  return true;
}

}  // namespace tandem::gpu
