// Which rank of a host updates which part of an arena that its ranks share.
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
// shares of two ranks meet between pages, so no two ranks write to one line of a cache.
std::vector<ArenaPart> equal_parts_of(const ParameterArena& arena, std::size_t rank,
                                      std::size_t ranks);

// The slots whose pieces are this rank's: the largest first, each to the rank with the least work.
std::vector<std::size_t> muon_slots_of(const std::vector<MuonPiece>& pieces, std::size_t rank,
                                       std::size_t ranks);

}  // namespace tandem::train
