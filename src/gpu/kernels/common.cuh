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
struct Narrow<Bfloat16> {
  __device__ static Bfloat16 of(float value) { return {bfloat16_of_float(value)}; }
};
template <>
struct Narrow<Half> {
  __device__ static Half of(float value) { return {half_of_float(value)}; }
};
template <class T>
__device__ inline T narrow(float value) {
  return Narrow<T>::of(value);
}

// The values in words of memory.
template <class T>
struct Words;
template <>
struct Words<float> {
  static constexpr int kValues = 1;  // of a word
  __device__ static float get(const unsigned* words, int k) { return __uint_as_float(words[k]); }
  __device__ static unsigned make(const float* values) { return __float_as_uint(values[0]); }
};
template <>
struct Words<Bfloat16> {  // a float without its last half
  static constexpr int kValues = 2;
  __device__ static float get(const unsigned* words, int k) {
    return __uint_as_float(k % 2 == 0 ? words[k / 2] << 16 : words[k / 2] & 0xFFFF0000U);
  }
  __device__ static unsigned make(const float* values) {
    return pair_of_bfloat16(values[0], values[1]);
  }
};
template <>
struct Words<Half> {
  static constexpr int kValues = 2;
  __device__ static float get(const unsigned* words, int k) {
    return float_of_half(static_cast<unsigned short>(words[k / 2] >> (16 * (k % 2))));
  }
  __device__ static unsigned make(const float* values) {
    return pair_of_half(values[0], values[1]);
  }
};

// V neighboring values, which are read and written by one instruction. Words stay as they were read
// until they are used: taken apart at once, a thread would wait for each load.
template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
  unsigned words[sizeof(T) * V / 4];
};
template <int V, class T>
__device__ inline Pack<T, V> load(const T* from) {
  return *reinterpret_cast<const Pack<T, V>*>(from);
}
template <class T, int V>
__device__ inline void store(const Pack<T, V>& pack, T* to) {
  *reinterpret_cast<Pack<T, V>*>(to) = pack;
}

// Values of `pack` as floats, and back.
template <class T, int V>
__device__ inline void widen_all(const Pack<T, V>& pack, float* values) {
  TANDEM_UNROLL
  for (int k = 0; k < V; ++k) values[k] = Words<T>::get(pack.words, k);
}
template <class T, int V>
__device__ inline Pack<T, V> narrow_all(const float* values) {
  Pack<T, V> pack;
  TANDEM_UNROLL
  for (int k = 0; k < V; k += Words<T>::kValues) {
    pack.words[k / Words<T>::kValues] = Words<T>::make(values + k);
  }
  return pack;
}

// Byte k of a pack, and a pack of V bytes.
template <int V>
__device__ inline int byte_of(const Pack<Byte, V>& pack, int k) {
  return static_cast<int>(pack.words[k / 4] >> (8 * (k % 4)) & 0xFFU);
}
template <int V>
__device__ inline Pack<Byte, V> bytes_of(const int* values) {
  Pack<Byte, V> pack = {};
  TANDEM_UNROLL
  for (int k = 0; k < V; ++k) {
    pack.words[k / 4] |= static_cast<unsigned>(values[k]) << (8 * (k % 4));
  }
  return pack;
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
// For a form of a norm, by the values in 16 bytes: NAME_float_21, with pooling kAfterNorm and ReLU.
#define TANDEM_FORM(name, Arguments, pool, activation)              \
  TANDEM_KERNEL(name##_float_##pool##activation, Arguments,         \
                (name<float, 4, pool, activation>(arguments)))      \
  TANDEM_KERNEL(name##_bfloat16_##pool##activation, Arguments,      \
                (name<Bfloat16, 8, pool, activation>(arguments)))   \
  TANDEM_KERNEL(name##_half_##pool##activation, Arguments,          \
                (name<Half, 8, pool, activation>(arguments)))
