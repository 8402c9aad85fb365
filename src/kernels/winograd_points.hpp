// The matrices of Winograd's convolution, F(2,3) and F(4,3), as functions of vectors: apply(in,
// out). winograd_vectors.hpp says how to include this.
#pragma once

#include "winograd_vectors.hpp"

namespace tandem::kernels {
namespace {

// Interpolates at 0, 1, -1 and infinity.
struct F2 {
  static constexpr std::size_t kTile = 2, kSide = 4;

  struct Image {  // B^T
    static constexpr std::size_t kIn = kSide, kOut = kSide;
    template <class V>
    static TANDEM_INLINE void apply(const V* d, V* v) {
      v[0] = d[0] - d[2];
      v[1] = d[1] + d[2];
      v[2] = d[2] - d[1];
      v[3] = d[1] - d[3];
    }
  };
  struct Filter {  // G
    static constexpr std::size_t kIn = 3, kOut = kSide;
    template <class V>
    static TANDEM_INLINE void apply(const V* g, V* u) {
      const V even = 0.5F * (g[0] + g[2]), odd = 0.5F * g[1];
      u[0] = g[0];
      u[1] = even + odd;
      u[2] = even - odd;
      u[3] = g[2];
    }
  };
  struct Results {  // A^T
    static constexpr std::size_t kIn = kSide, kOut = kTile;
    template <class V>
    static TANDEM_INLINE void apply(const V* m, V* y) {
      y[0] = m[0] + m[1] + m[2];
      y[1] = m[1] - m[2] - m[3];
    }
  };
  struct Gradient {  // A
    static constexpr std::size_t kIn = kTile, kOut = kSide;
    template <class V>
    static TANDEM_INLINE void apply(const V* y, V* a) {
      a[0] = y[0];
      a[1] = y[0] + y[1];
      a[2] = y[0] - y[1];
      a[3] = -y[1];
    }
  };
  struct FilterGradient {  // G^T
    static constexpr std::size_t kIn = kSide, kOut = 3;
    template <class V>
    static TANDEM_INLINE void apply(const V* d, V* g) {
      const V even = 0.5F * (d[1] + d[2]);
      g[0] = d[0] + even;
      g[1] = 0.5F * (d[1] - d[2]);
      g[2] = even + d[3];
    }
  };
};

// Interpolates at 0, ±5/8, ±3/2 and infinity. Rounding errors are half of those at 0, ±1, ±2, whose
// matrices are Lavin and Gray's. For points 0, ±a, ±b: rows of B^T are the coefficients of the
// polynomial with all other points as roots; those of G are (1, p, p²) / prod(p - q) over the other
// points q; columns of A^T are (1, p, p², p³).
struct F4 {
  static constexpr std::size_t kTile = 4, kSide = 6;
  static constexpr float kA = 0.625F, kB = 1.5F, kAA = kA * kA, kBB = kB * kB;
  static constexpr float kOf0 = 1 / (kAA * kBB), kOfA = 1 / (2 * kAA * (kAA - kBB)),
                         kOfB = 1 / (2 * kBB * (kBB - kAA));

  struct Image {  // B^T
    static constexpr std::size_t kIn = kSide, kOut = kSide;
    template <class V>
    static TANDEM_INLINE void apply(const V* d, V* v) {
      const V even_a = d[4] - kBB * d[2], odd_a = kA * (d[3] - kBB * d[1]);
      const V even_b = d[4] - kAA * d[2], odd_b = kB * (d[3] - kAA * d[1]);
      v[0] = kAA * kBB * d[0] - (kAA + kBB) * d[2] + d[4];
      v[1] = even_a + odd_a;
      v[2] = even_a - odd_a;
      v[3] = even_b + odd_b;
      v[4] = even_b - odd_b;
      v[5] = kAA * kBB * d[1] - (kAA + kBB) * d[3] + d[5];
    }
  };
  struct Filter {  // G
    static constexpr std::size_t kIn = 3, kOut = kSide;
    template <class V>
    static TANDEM_INLINE void apply(const V* g, V* u) {
      const V even_a = kOfA * g[0] + kOfA * kAA * g[2], odd_a = kOfA * kA * g[1];
      const V even_b = kOfB * g[0] + kOfB * kBB * g[2], odd_b = kOfB * kB * g[1];
      u[0] = kOf0 * g[0];
      u[1] = even_a + odd_a;
      u[2] = even_a - odd_a;
      u[3] = even_b + odd_b;
      u[4] = even_b - odd_b;
      u[5] = g[2];
    }
  };
  struct Results {  // A^T
    static constexpr std::size_t kIn = kSide, kOut = kTile;
    template <class V>
    static TANDEM_INLINE void apply(const V* m, V* y) {
      const V even_a = m[1] + m[2], odd_a = m[1] - m[2];
      const V even_b = m[3] + m[4], odd_b = m[3] - m[4];
      y[0] = m[0] + even_a + even_b;
      y[1] = kA * odd_a + kB * odd_b;
      y[2] = kAA * even_a + kBB * even_b;
      y[3] = kA * kAA * odd_a + kB * kBB * odd_b + m[5];
    }
  };
  struct Gradient {  // A
    static constexpr std::size_t kIn = kTile, kOut = kSide;
    template <class V>
    static TANDEM_INLINE void apply(const V* y, V* a) {
      const V even_a = y[0] + kAA * y[2], odd_a = kA * y[1] + kA * kAA * y[3];
      const V even_b = y[0] + kBB * y[2], odd_b = kB * y[1] + kB * kBB * y[3];
      a[0] = y[0];
      a[1] = even_a + odd_a;
      a[2] = even_a - odd_a;
      a[3] = even_b + odd_b;
      a[4] = even_b - odd_b;
      a[5] = y[3];
    }
  };
  struct FilterGradient {  // G^T
    static constexpr std::size_t kIn = kSide, kOut = 3;
    template <class V>
    static TANDEM_INLINE void apply(const V* d, V* g) {
      const V even_a = kOfA * (d[1] + d[2]), odd_a = kOfA * (d[1] - d[2]);
      const V even_b = kOfB * (d[3] + d[4]), odd_b = kOfB * (d[3] - d[4]);
      g[0] = kOf0 * d[0] + even_a + even_b;
      g[1] = kA * odd_a + kB * odd_b;
      g[2] = kAA * even_a + kBB * even_b + d[5];
    }
  };
};

// Matrix * x * Matrix^T. source.at(row, column) reads x; sink.put(row, vectors) takes a row.
template <class Matrix, class V, class Source, class Sink>
TANDEM_INLINE void transform(const Source& source, const Sink& sink) {
  V half[Matrix::kOut * Matrix::kIn];
  TANDEM_UNROLL for (std::size_t j = 0; j < Matrix::kIn; ++j) {
    V column[Matrix::kIn], out[Matrix::kOut];
    TANDEM_UNROLL for (std::size_t i = 0; i < Matrix::kIn; ++i) column[i] = source.at(i, j);
    Matrix::apply(column, out);
    TANDEM_UNROLL for (std::size_t i = 0; i < Matrix::kOut; ++i) half[i * Matrix::kIn + j] = out[i];
  }
  TANDEM_UNROLL for (std::size_t i = 0; i < Matrix::kOut; ++i) {
    V row[Matrix::kOut];
    Matrix::apply(half + i * Matrix::kIn, row);
    sink.put(i, row);
  }
}

}  // namespace
}  // namespace tandem::kernels
