// Matrices of a network side by side, so that one batched product does the work of many.
#pragma once

#include <cstdint>
#include <vector>

#include "muon_pieces.hpp"

namespace tandem::train {

// Matrices of one shape, or padded by zeros to one: they stay zeros in Muon's iteration, and no
// other element changes by them. A matrix of more rows than columns lies transposed.
struct MuonBank {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<MuonPiece> matrices;

  std::int64_t size() const { return static_cast<std::int64_t>(matrices.size()); }
  std::int64_t elements() const { return size() * rows * columns; }
  // Of its products in one step of Muon.
  double multiplications() const;
};

// The matrices among the pieces in as few banks as pay: two become one where a device computes what
// padding adds in less time than it starts the products of another bank.
std::vector<MuonBank> muon_banks_of(const std::vector<MuonPiece>& pieces);

// Muon's iteration for matrices of norm 1, no taller than wide: [n, rows, columns].
torch::Tensor iterated(torch::Tensor x);

}  // namespace tandem::train
