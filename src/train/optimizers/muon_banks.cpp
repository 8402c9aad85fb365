#include "muon_banks.hpp"

#include <algorithm>
#include <utility>

namespace tandem::train {
namespace {

// About 20 starts of kernels, 3 us each, at 100 tera-multiplications a second.
constexpr double kMultiplicationsOfABank = 5e9;

std::pair<std::int64_t, std::int64_t> shape_of(const MuonPiece& matrix) {
  return std::minmax(matrix.rows, matrix.columns());
}

MuonBank merged(const MuonBank& one, const MuonBank& other) {
  MuonBank both = one;
  both.rows = std::max(one.rows, other.rows);
  both.columns = std::max(one.columns, other.columns);
  both.matrices.insert(both.matrices.end(), other.matrices.begin(), other.matrices.end());
  return both;
}

}  // namespace

double MuonBank::multiplications() const {
  const auto height = static_cast<double>(rows);
  const auto width = static_cast<double>(columns);
  const double once = height * height * (2 * width + height);
  return NewtonSchulz::kIterations * static_cast<double>(size()) * once;
}

std::vector<MuonBank> muon_banks_of(const std::vector<MuonPiece>& pieces) {
  std::vector<MuonPiece> matrices;
  for (const MuonPiece& piece : pieces) {
    if (piece.kind == MuonPiece::Kind::kMatrix) matrices.push_back(piece);
  }
  std::stable_sort(matrices.begin(), matrices.end(), [](const MuonPiece& a, const MuonPiece& b) {
    return shape_of(a) > shape_of(b);
  });
  std::vector<MuonBank> by_shape;
  for (const MuonPiece& matrix : matrices) {
    const auto [rows, columns] = shape_of(matrix);
    if (by_shape.empty() || by_shape.back().rows != rows || by_shape.back().columns != columns) {
      by_shape.push_back({rows, columns, {}});
    }
    by_shape.back().matrices.push_back(matrix);
  }
  std::vector<MuonBank> banks;
  for (const MuonBank& bank : by_shape) {
    if (!banks.empty()) {
      MuonBank both = merged(banks.back(), bank);
      const double apart = banks.back().multiplications() + bank.multiplications();
      if (both.multiplications() - apart < kMultiplicationsOfABank) {
        banks.back() = std::move(both);
        continue;
      }
    }
    banks.push_back(bank);
  }
  return banks;
}

torch::Tensor iterated(torch::Tensor x) {
  for (int i = 0; i < NewtonSchulz::kIterations; ++i) {
    const torch::Tensor squares = x.bmm(x.transpose(1, 2));
    const torch::Tensor factor =
        torch::baddbmm(squares, squares, squares, NewtonSchulz::kB, NewtonSchulz::kC);
    x = torch::baddbmm(x, factor, x, NewtonSchulz::kA, 1);
  }
  return x;
}

}  // namespace tandem::train
