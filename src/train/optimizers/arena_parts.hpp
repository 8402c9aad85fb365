// The parts of a shared arena that each rank of a host updates.
#pragma once

#include <cstddef>
#include <vector>

#include "muon_pieces.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// Floats of one slot of the arena.
struct ArenaPart {
  std::size_t slot;
  std::size_t first;
  std::size_t count;
};

// Equal shares for optimizers that treat each element alike, in parts that fit into a cache. The
// shares of two ranks meet at a page boundary, so no two ranks write to one cache line.
std::vector<ArenaPart> equal_parts_of(const ParameterArena& arena, std::size_t rank,
                                      std::size_t ranks);

// The slots of this rank. Pieces are assigned from the largest on, each to the rank with the least
// work so far.
std::vector<std::size_t> muon_slots_of(const std::vector<MuonPiece>& pieces, std::size_t rank,
                                       std::size_t ranks);

}  // namespace tandem::train
