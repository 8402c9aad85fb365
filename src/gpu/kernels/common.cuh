// Float types, sums within a block, and the block that ends last. A test compiles these files as C++
// (tests/support/emulated_gpu.hpp), so they use nothing of CUDA but what that defines.
#pragma once

#include "arguments.hpp"

namespace tandem::gpu {

struct Bfloat16 {
  unsigned short bits;
};
struct Half {
  unsigned short bits;
};

__device__ inline float widen(float value) { return value; }
__device__ inline float widen(Bfloat16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}
__device__ inline float widen(Half value) { return float_of_half(value.bits); }

template <class T>
struct Narrow;
template <>
struct Narrow<float> {
  __device__ static float of(float value) { return value; }
};
template <>
struct Narrow<Bfloat16> {  // to nearest, ties to even; a NaN stays one
  __device__ static Bfloat16 of(float value) {
    const unsigned bits = __float_as_uint(value);
    const unsigned rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
    return {static_cast<unsigned short>(value == value ? rounded >> 16 : 0x7FC0U)};
  }
};
template <>
struct Narrow<Half> {
  __device__ static Half of(float value) { return {half_of_float(value)}; }
};
template <class T>
__device__ inline T narrow(float value) {
  return Narrow<T>::of(value);
}

// Neighboring values, which are read and written by one instruction.
template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
  T v[V];
};
template <int V, class T>
__device__ inline Pack<T, V> load(const T* from) {
  return *reinterpret_cast<const Pack<T, V>*>(from);
}
template <class T, int V>
__device__ inline void store(const Pack<T, V>& pack, T* to) {
  *reinterpret_cast<Pack<T, V>*>(to) = pack;
}

__device__ inline Long thread_index() {
  return static_cast<Long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// Adds up what threads t, t + apart, t + 2 * apart… have in `values`, into the first `apart` places.
// blockDim.x and `apart` are powers of 2.
template <class Number>
__device__ inline void add_in_block(Number* values, unsigned apart) {
  const unsigned t = threadIdx.x;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half >= apart; half /= 2) {
    if (t < half) values[t] += values[t + half];
    __syncthreads();
  }
}

// True in all threads of the last of `blocks` blocks to get here, which then sees what the others
// wrote before. As threadFenceReduction of NVIDIA's CUDA samples.
__device__ inline bool is_last_block(unsigned* ticket, unsigned blocks) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(ticket, 1U) == blocks - 1;
    if (is_last) *ticket = 0;  // for the next kernel
  }
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

}  // namespace tandem::gpu

// A kernel for each float type: NAME_float, NAME_bfloat16, NAME_half.
#define TANDEM_KERNELS(name, Arguments)                            \
  TANDEM_KERNEL(name##_float, Arguments, name<float>(arguments))    \
  TANDEM_KERNEL(name##_bfloat16, Arguments, name<Bfloat16>(arguments)) \
  TANDEM_KERNEL(name##_half, Arguments, name<Half>(arguments))
// And for 1 and 4 neighboring values at a time: NAME_float_1, …
#define TANDEM_WIDE_KERNELS(name, Arguments)                                    \
  TANDEM_KERNEL(name##_float_1, Arguments, (name<float, 1>(arguments)))         \
  TANDEM_KERNEL(name##_float_4, Arguments, (name<float, 4>(arguments)))         \
  TANDEM_KERNEL(name##_bfloat16_1, Arguments, (name<Bfloat16, 1>(arguments)))   \
  TANDEM_KERNEL(name##_bfloat16_4, Arguments, (name<Bfloat16, 4>(arguments)))   \
  TANDEM_KERNEL(name##_half_1, Arguments, (name<Half, 1>(arguments)))           \
  TANDEM_KERNEL(name##_half_4, Arguments, (name<Half, 4>(arguments)))
