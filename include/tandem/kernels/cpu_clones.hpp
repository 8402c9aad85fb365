// What: TANDEM_CLONES, put before a function with a plain loop over an array.
// Owns: nothing. Threads: any. Throws: nothing.
//
// Such loops are compiled for several instruction sets and chosen at load time: x86-64-v4 is
// AVX-512 with what loops over 8 and 16 bits need of it (AVX512BW); GCC 11 does not know it.
// Contraction to fused multiply-adds is off for the whole project, so every clone rounds alike.
// Sanitizers start too late for the choosing.
#pragma once

#if defined(__x86_64__) && !defined(TANDEM_SANITIZED) && !defined(__clang__) && __GNUC__ < 12
#define TANDEM_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#elif defined(__x86_64__) && !defined(TANDEM_SANITIZED)
#define TANDEM_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define TANDEM_CLONES
#endif
