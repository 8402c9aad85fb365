// Muon by the operators of a device: an update of all parameters in three of them and the products
// between. Throws what libtorch throws.
#pragma once

#include <memory>
#include <vector>

#include "muon_pieces.hpp"
#include "tandem/train/optimizer.hpp"

namespace tandem::train {

// `pieces` with a matrix among them; all lie in one stack, as large as the largest.
std::unique_ptr<Optimizer> make_fused_muon(const OptimizerOptions& options,
                                           const ParameterArena& arena, double peak,
                                           const std::vector<MuonPiece>& pieces);

}  // namespace tandem::train
