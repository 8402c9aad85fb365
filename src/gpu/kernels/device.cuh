// What common.cuh needs of a GPU.
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

#define TANDEM_KERNEL(name, Arguments, call)                                             \
  extern "C" __global__ void __launch_bounds__(256) name(const Arguments arguments) { call; }
