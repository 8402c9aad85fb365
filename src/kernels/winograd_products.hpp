// The products of a WinogradForm, with sums in registers. winograd_vectors.hpp says how to include
// this.
#pragma once

#include "winograd_form.hpp"
#include "winograd_vectors.hpp"

namespace tandem::kernels {
namespace {

template <class Isa>
class WinogradProducts {
  using Floats = typename Isa::Floats;
  using Operand = typename Isa::Operand;

  static constexpr std::size_t kLanes = Isa::kLanes, kDepth = Isa::kDepth;
  static constexpr std::size_t kPanel = kLanes * Isa::kPanelVectors;
  static constexpr std::size_t kMaxRows = 6;

 public:
  static void multiply(const PanelProduct& product) {
    multiply_columns<Isa::kPanelVectors>(product);
  }

 private:
  template <std::size_t Rows, std::size_t Vectors>
  static void multiply_rows(const PanelProduct& product) {
    Floats sums[Rows][Vectors] = {};
    auto left = static_cast<const Operand*>(product.left);
    auto right = static_cast<const Operand*>(product.right);
    const std::size_t row_stride = product.left_row, step = product.left_step;
    for (std::size_t s = 0; s < product.steps; ++s) {
      typename Isa::Right vectors[Vectors];
      TANDEM_UNROLL for (std::size_t j = 0; j < Vectors; ++j) {
        vectors[j] = Isa::right(right + j * kLanes * kDepth);
      }
      TANDEM_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
        const auto number = Isa::left(left + r * row_stride);
        TANDEM_UNROLL for (std::size_t j = 0; j < Vectors; ++j) {
          Isa::add(number, vectors[j], sums[r][j]);
        }
      }
      left += step;
      right += kPanel * kDepth;
    }
    TANDEM_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      TANDEM_UNROLL for (std::size_t j = 0; j < Vectors; ++j) {
        float* to = product.sums + r * product.sums_row + j * kLanes;
        Isa::store(product.adds ? sums[r][j] + Isa::load(to) : sums[r][j], to);
      }
    }
  }

  // Rows in groups of at most kMaxRows, of sizes as equal as possible.
  template <std::size_t Vectors>
  static void multiply_vectors(const PanelProduct& product) {
    constexpr void (*kFunctions[kMaxRows])(const PanelProduct&) = {
        multiply_rows<1, Vectors>, multiply_rows<2, Vectors>, multiply_rows<3, Vectors>,
        multiply_rows<4, Vectors>, multiply_rows<5, Vectors>, multiply_rows<6, Vectors>};
    const std::size_t groups = (product.rows + kMaxRows - 1) / kMaxRows;
    PanelProduct part = product;
    for (std::size_t i = 0; i < groups; ++i) {
      part.rows = product.rows / groups + (i < product.rows % groups ? 1 : 0);
      kFunctions[part.rows - 1](part);
      part.left = static_cast<const Operand*>(part.left) + part.rows * part.left_row;
      part.sums += part.rows * part.sums_row;
    }
  }

  // The last panel may have fewer vectors.
  template <std::size_t Vectors>
  static void multiply_columns(const PanelProduct& product) {
    if constexpr (Vectors > 1) {
      if (product.columns <= (Vectors - 1) * kLanes) return multiply_columns<Vectors - 1>(product);
    }
    multiply_vectors<Vectors>(product);
  }
};

}  // namespace
}  // namespace tandem::kernels
