// What the kernels need of a GPU.
#pragma once

__device__ inline float float_of_half(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ inline unsigned short half_of_float(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
// To nearest, ties to even; a NaN stays one.
__device__ inline unsigned short bfloat16_of_float(float value) {
#if __CUDA_ARCH__ >= 800
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  const unsigned bits = __float_as_uint(value);
  const unsigned rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  return static_cast<unsigned short>(value == value ? rounded >> 16 : 0x7FFFU);
#endif
}
// Two values in one word.
__device__ inline unsigned pair_of_bfloat16(float low, float high) {
#if __CUDA_ARCH__ >= 800
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#else
  return bfloat16_of_float(low) | static_cast<unsigned>(bfloat16_of_float(high)) << 16;
#endif
}
__device__ inline unsigned pair_of_half(float low, float high) {
#if __CUDA_ARCH__ >= 800
  unsigned bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#else
  return half_of_float(low) | static_cast<unsigned>(half_of_float(high)) << 16;
#endif
}
// To about 2e-7 of the result; results below 1e-38 are 0.
__device__ inline float fast_exp2(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}
__device__ inline float fast_reciprocal(float value) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}
// Four floats of the second cache, which all blocks share.
__device__ inline void load_past_l1(const float* from, float* to) {
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "l"(from)
               : "memory");
}

// Otherwise the compiler keeps arrays in memory for loops that it finds too long.
#define TANDEM_UNROLL _Pragma("unroll")
// For loops that few threads run, once: their code would take long to compile.
#define TANDEM_ROLLED _Pragma("unroll 1")
// Three blocks at a time on each multiprocessor at least.
#define TANDEM_KERNEL(name, Arguments, call)                                             \
  extern "C" __global__ void __launch_bounds__(256, 3) name(const Arguments arguments) { call; }
