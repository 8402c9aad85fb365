// TANDEM_CLONES, an attribute for functions with a plain loop over an array. Such loops are
// compiled for several instruction sets; the loader chooses one. x86-64-v4 is AVX-512
// with AVX512BW, which loops over 8 and 16 bits need, and x86-64-v3 is AVX2 with FMA; GCC 11 does
// not know these names.
//
// The project is compiled without contraction to fused multiply-adds, so every clone rounds alike.
// Only pooled_convolution_loops.cpp is compiled with contraction.
// Sanitizers start too late for the selection, so they get no clones.
#pragma once

#if defined(__x86_64__) && !defined(TANDEM_SANITIZED) && !defined(__clang__) && __GNUC__ < 12
#define TANDEM_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#elif defined(__x86_64__) && !defined(TANDEM_SANITIZED)
#define TANDEM_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TANDEM_CLONES
#endif
