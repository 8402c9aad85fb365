// The parts of the arena that LARS and LAMB scale by a trust ratio each.
#pragma once

#include <cstddef>
#include <vector>

#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

constexpr double kLarsEpsilon = 1e-8;  // timm's default

struct LayerwisePiece {
  std::size_t first;  // in floats
  std::size_t size;
  bool adapts;  // a tensor of more than one row
};

// In the order of the arena.
std::vector<LayerwisePiece> layerwise_pieces_of(const ParameterArena& arena);

}  // namespace tandem::train
