// Which rule of Muon holds for which part of the arena, and the coefficients of its iteration.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/model/fused_operators.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// The coefficients of a x + b x^3 + c x^5, from Muon's authors.
struct NewtonSchulz {
  static constexpr double kA = 3.4445;
  static constexpr double kB = -4.7750;
  static constexpr double kC = 2.0315;
  static constexpr int kIterations = 3;
  static constexpr double kSmallestNorm = 1e-7;  // so that zeros are not divided by 0
};

using MuonPiece = model::fused::MuonPiece;

// In the order of the arena.
std::vector<MuonPiece> muon_pieces_of(const ParameterArena& arena,
                                      const std::vector<std::string>& early);

// Muon on a CPU for one piece. Its step() takes the values and gradients of that piece only.
std::unique_ptr<Optimizer> make_muon_of_piece(const OptimizerOptions& options, MuonPiece piece,
                                              double peak);

}  // namespace tandem::train
