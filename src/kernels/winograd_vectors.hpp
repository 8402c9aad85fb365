// Vector types of GCC and clang, and multiplication with fp32 and bfloat16 operands. Include this
// after all other headers: each including file compiles it for its own instruction set, and the
// anonymous namespace keeps those copies apart. Functions of other headers must not be compiled for
// that instruction set, because the linker shares them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define TANDEM_INLINE __attribute__((always_inline)) inline
#define TANDEM_UNROLL _Pragma("GCC unroll 16")

namespace tandem::kernels {
namespace {

// A separate struct: GCC 12 drops the attribute if the template that declares the type also uses
// it.
template <std::size_t Lanes>
struct VectorTypes {
  typedef float Floats __attribute__((vector_size(Lanes * 4)));
  typedef std::uint32_t Words __attribute__((vector_size(Lanes * 4)));
  typedef std::uint16_t Halves __attribute__((vector_size(Lanes * 2)));
};

template <std::size_t Lanes>
struct Vectors {
  static constexpr std::size_t kLanes = Lanes;
  using Floats = typename VectorTypes<Lanes>::Floats;
  using Words = typename VectorTypes<Lanes>::Words;
  using Halves = typename VectorTypes<Lanes>::Halves;

  template <class To, class From>
  static TANDEM_INLINE To bits_as(const From& from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
  }

  static TANDEM_INLINE Floats load(const float* from) {
    Floats values;
    std::memcpy(&values, from, sizeof values);
    return values;
  }
  static TANDEM_INLINE Floats load(const std::uint16_t* from) {
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return bits_as<Floats>(__builtin_convertvector(halves, Words) << 16);
  }
  // A call, because its copies in unrolled loops would take minutes to compile.
  template <class Number>
  static __attribute__((noinline)) void copy_some(const Number* from, std::size_t count,
                                                  Number* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
  }
  // Zeros after the first `count`, which is less than kLanes.
  template <class Number>
  static TANDEM_INLINE Floats load_some(const Number* from, std::size_t count) {
    Number some[Lanes] = {};
    copy_some(from, count, some);
    return load(some);
  }

  // Rounds to bfloat16, to nearest, ties to even; the result is in the upper half of each word. A
  // NaN stays NaN if its lower half is 0. That holds here, because all inputs are bfloat16.
  static TANDEM_INLINE Words rounded(const Floats& values) {
    const Words bits = bits_as<Words>(values);
    return bits + (((bits >> 16) & 1U) + 0x7FFFU);
  }

  static TANDEM_INLINE void store(const Floats& values, float* to) {
    std::memcpy(to, &values, sizeof values);
  }
  // As bfloat16_of_float.
  static TANDEM_INLINE void store(const Floats& values, std::uint16_t* to) {
    const auto is_none = bits_as<Words>(values != values);
    const Words upper = (~is_none & (rounded(values) >> 16)) | (is_none & 0x7FC0U);
    const Halves halves = __builtin_convertvector(upper, Halves);
    std::memcpy(to, &halves, sizeof halves);
  }
  template <class Number>
  static TANDEM_INLINE void store_some(const Floats& values, std::size_t count, Number* to) {
    Number some[Lanes];
    store(values, some);
    copy_some(some, count, to);
  }

  // In place: number j of vector i goes to number i of vector j. Each of log2(Lanes) rounds
  // interleaves the vectors of both halves.
  static TANDEM_INLINE void transpose(Floats* vectors) {
#if defined(__clang__)
    Floats out[Lanes];
    for (std::size_t i = 0; i < Lanes; ++i) {
      for (std::size_t j = 0; j < Lanes; ++j) out[j][i] = vectors[i][j];
    }
    std::memcpy(vectors, out, sizeof out);
#else
    constexpr std::size_t kHalf = Lanes / 2;
    Words lower, upper;
    for (std::size_t i = 0; i < Lanes; ++i) {
      lower[i] = static_cast<std::uint32_t>(i / 2 + i % 2 * Lanes);
      upper[i] = lower[i] + static_cast<std::uint32_t>(kHalf);
    }
    for (std::size_t round = 1; round < Lanes; round *= 2) {
      Floats mixed[Lanes];
      TANDEM_UNROLL for (std::size_t i = 0; i < kHalf; ++i) {
        mixed[2 * i] = __builtin_shuffle(vectors[i], vectors[i + kHalf], lower);
        mixed[2 * i + 1] = __builtin_shuffle(vectors[i], vectors[i + kHalf], upper);
      }
      TANDEM_UNROLL for (std::size_t i = 0; i < Lanes; ++i) vectors[i] = mixed[i];
    }
#endif
  }
};

// fp32 operands.
template <std::size_t Lanes, std::size_t VectorsOfPanel>
struct Fp32Products : Vectors<Lanes> {
  using typename Vectors<Lanes>::Floats;
  using Operand = float;
  using Right = Floats;
  static constexpr std::size_t kDepth = 1;
  static constexpr std::size_t kPanelVectors = VectorsOfPanel;

  static TANDEM_INLINE Floats left(const Operand* from) { return *from - Floats{}; }
  static TANDEM_INLINE Right right(const Operand* from) { return Vectors<Lanes>::load(from); }
  static TANDEM_INLINE void add(const Floats& left, const Right& right, Floats& sums) {
    sums += left * right;
  }
  static TANDEM_INLINE void store_row(const Floats& values, Operand* to) {
    Vectors<Lanes>::store(values, to);
  }
  static TANDEM_INLINE void store_rows(const Floats& values, const Floats&, Operand* to) {
    Vectors<Lanes>::store(values, to);
  }
};

// Operands are pairs of bfloat16 numbers: the first in the lower half of a word.
template <std::size_t Lanes, std::size_t VectorsOfPanel>
struct Bf16Products : Vectors<Lanes> {
  using typename Vectors<Lanes>::Floats;
  using typename Vectors<Lanes>::Words;
  using typename Vectors<Lanes>::Halves;
  using Operand = std::uint16_t;
  using Right = Words;
  static constexpr std::size_t kDepth = 2;
  static constexpr std::size_t kPanelVectors = VectorsOfPanel;

  static TANDEM_INLINE Words left(const Operand* from) {
    std::uint32_t pair;
    std::memcpy(&pair, from, sizeof pair);
    return pair + Words{};
  }
  static TANDEM_INLINE Right right(const Operand* from) {
    Words pairs;
    std::memcpy(&pairs, from, sizeof pairs);
    return pairs;
  }
  static TANDEM_INLINE void add(const Words& left, const Right& right, Floats& sums) {
    sums += first_of(left) * first_of(right);
    sums += second_of(left) * second_of(right);
  }
  static TANDEM_INLINE void store_row(const Floats& values, Operand* to) {
    const Halves halves = __builtin_convertvector(Vectors<Lanes>::rounded(values) >> 16, Halves);
    std::memcpy(to, &halves, sizeof halves);
  }
  // Side by side.
  static TANDEM_INLINE void store_rows(const Floats& first, const Floats& second, Operand* to) {
    const Words pairs =
        (Vectors<Lanes>::rounded(first) >> 16) | (Vectors<Lanes>::rounded(second) & 0xFFFF0000U);
    std::memcpy(to, &pairs, sizeof pairs);
  }

 private:
  static TANDEM_INLINE Floats first_of(const Words& pairs) {
    return Vectors<Lanes>::template bits_as<Floats>(pairs << 16);
  }
  static TANDEM_INLINE Floats second_of(const Words& pairs) {
    return Vectors<Lanes>::template bits_as<Floats>(pairs & 0xFFFF0000U);
  }
};

}  // namespace
}  // namespace tandem::kernels
