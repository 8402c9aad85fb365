// Batch normalization fused with 2x2 max pooling, an added residual and an activation: what forward
// and backward share. See NormArguments for the shape of the blocks.
#pragma once

#include "common.cuh"

namespace tandem::gpu {

constexpr int kBeforeNorm = 1, kAfterNorm = 2;
constexpr int kRelu = 1, kGelu = 2;
constexpr float kRootOfHalf = 0.70710678118654752440F;
constexpr float kDensityAtZero = 0.39894228040143267794F;  // 1 / sqrt(2 pi)

__device__ inline float activated(int activation, float v) {
  if (activation == kRelu) return v < 0 ? 0.0F : v;  // a NaN passes
  if (activation == kGelu) return v * 0.5F * (1.0F + erff(v * kRootOfHalf));
  return v;
}

// The derivative.
__device__ inline float slope_of(int activation, float v) {
  if (activation == kRelu) return v <= 0 ? 0.0F : 1.0F;
  if (activation == kGelu) {
    const float share = 0.5F * (1.0F + erff(v * kRootOfHalf));
    return share + v * kDensityAtZero * expf(-0.5F * v * v);
  }
  return 1.0F;
}

// This thread's place in the grid.
template <int V>
struct Place {
  __device__ explicit Place(const NormArguments& a)
      : rows(blockDim.x / a.lanes),
        lane(static_cast<int>(threadIdx.x) % a.lanes),
        row(static_cast<int>(threadIdx.x) / a.lanes),
        channel((static_cast<int>(blockIdx.y) * a.lanes + lane) * V),
        is_used(channel < a.channels),
        first(static_cast<Long>(blockIdx.x) * rows + row),
        step(static_cast<Long>(gridDim.x) * rows) {}
  int rows, lane, row;
  int channel;   // the first of V
  bool is_used;  // some threads have no channel
  Long first, step;  // of the items
};

// The first value of a 2x2 window of an image, from the number of the window. `round_up`: windows
// that an odd size cuts count, too.
struct Window {
  __device__ Window(const NormArguments& a, Long number, bool round_up) {
    const int rows = (a.height + round_up) / 2, columns = (a.width + round_up) / 2;
    column = static_cast<int>(number % columns);
    row = static_cast<int>(number / columns % rows);
    image = number / columns / rows;
    is_whole = 2 * row + 1 < a.height && 2 * column + 1 < a.width;
    pixel = (image * a.height + 2 * row) * a.width + 2 * column;
    pooled = (image * (a.height / 2) + row) * (a.width / 2) + column;
  }
  // Of pixel k: 0 and 1 lie above 2 and 3.
  __device__ Long at(const NormArguments& a, int k) const {
    return pixel + static_cast<Long>(k / 2) * a.width + k % 2;
  }
  __device__ bool has(const NormArguments& a, int k) const {
    return 2 * row + k / 2 < a.height && 2 * column + k % 2 < a.width;
  }
  Long image, pixel, pooled;
  int row, column;
  bool is_whole;
};

// Whether a value takes the place of the maximum so far: the first maximum and the last NaN win.
__device__ inline bool wins(float value, float best) { return value > best || value != value; }

// Adds up each thread's V values of two sums over the rows of the block, in one fixed order.
// Afterwards those of lane l and channel k are in sums[k * lanes + l], the second sum's behind V *
// lanes. values: V numbers of each.
template <class Number, int V>
__device__ inline void add_rows(const NormArguments& a, const Number* one, const Number* other,
                                Number* sums) {
  __shared__ Number scratch[kThreads];
  for (int k = 0; k < 2 * V; ++k) {
    scratch[threadIdx.x] = k < V ? one[k] : other[k - V];
    add_in_block(scratch, static_cast<unsigned>(a.lanes));
    if (static_cast<int>(threadIdx.x) < a.lanes) {
      sums[k * a.lanes + threadIdx.x] = scratch[threadIdx.x];
    }
    __syncthreads();
  }
}

// The sums of all blocks, in double. True in the threads of the last block that hold a result.
template <int V>
__device__ inline bool add_blocks(const NormArguments& a, const Place<V>& place, const float* one,
                                  const float* other, double* whole) {
  __shared__ float sums[2 * V * 32];
  add_rows<float, V>(a, one, other, sums);
  if (place.row == 0 && place.is_used) {
    for (int k = 0; k < V; ++k) {
      const Long at = static_cast<Long>(blockIdx.x) * 2 * a.channels + place.channel + k;
      a.sums[at] = sums[k * a.lanes + place.lane];
      a.sums[at + a.channels] = sums[(V + k) * a.lanes + place.lane];
    }
  }
  if (!is_last_block(a.tickets + blockIdx.y, gridDim.x)) return false;
  double first[V] = {}, second[V] = {};
  const volatile float* all = a.sums;  // from memory, which the other blocks wrote
  for (unsigned block = place.row; place.is_used && block < gridDim.x; block += place.rows) {
    const Long at = static_cast<Long>(block) * 2 * a.channels + place.channel;
    for (int k = 0; k < V; ++k) {
      first[k] += all[at + k];
      second[k] += all[at + a.channels + k];
    }
  }
  __shared__ double results[2 * V * 32];
  add_rows<double, V>(a, first, second, results);
  for (int k = 0; k < 2 * V; ++k) whole[k] = results[k * a.lanes + place.lane];
  return place.row == 0 && place.is_used;
}

}  // namespace tandem::gpu
