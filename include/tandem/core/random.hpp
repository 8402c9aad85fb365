// Random numbers as pure functions of a key, independent of the number of ranks and of the order of
// calls.
//
// The generator is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// OOPSLA 2014) over a counter. The parts of the key are hashed in sequence.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tandem {

// SplitMix64's finalizer: a bijection of 64-bit integers in which every input bit changes half of
// the output bits.
std::uint64_t mix64(std::uint64_t value);

class CounterRandom {
 public:
  // Streams with different keys are independent; equal keys give equal streams on every machine.
  explicit CounterRandom(std::initializer_list<std::uint64_t> key);

  std::uint64_t next();
  // Uniform in [0, bound), bound > 0 (Lemire's multiplication, bias below 2^-32).
  std::uint32_t below(std::uint32_t bound);
  // Uniform in [0, 1).
  double uniform();
  // Standard normal (Box-Muller).
  double normal();

 private:
  std::uint64_t state_;
};

// 0 … count-1 in an order that is a function of (seed, epoch) alone. count < 2^32.
std::vector<std::uint32_t> permutation(std::uint32_t count, std::uint64_t seed,
                                       std::uint64_t epoch);

}  // namespace tandem
