// The messages of an all-reduce among any number of ranks, as plain numbers: a reduce-scatter of
// chunks, then the same rounds backwards as an all-gather. Each rank sends 2 (ranks - 1) chunks,
// the minimum. A power of two, and a prime, take the fewest rounds, 2 ceil(log2 ranks); up to 4,096
// ranks no number takes more than 9/7 times that.
//
// Ranks form a grid with one dimension per prime factor of `ranks`, so that a line along the first
// dimension is consecutive ranks. Along each dimension the ranks of a line exchange as in Träff,
// "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv 2410.14234: half of the
// chunks go to the rank half the line away, half of the rest to the one at half of that, and so on.
// Among 2^k ranks this is recursive halving and doubling (Thakur, Rabenseifner and Gropp, IJHPCA
// 2005). Near ranks, which often share a host, exchange most of the values, and far ranks only what
// is left. The order of additions is a function of `ranks` and of the chunk alone.
#pragma once

#include <array>
#include <vector>

#include "chunk_partition.hpp"

namespace tandem::comm {

struct CirculantRound {
  bool adds;  // whether values that arrive are added; else they are complete
  int to, from;
  // Two ranges, because the second continues at the other end; it may be empty.
  std::array<ChunkRange, 2> sent, received;
};

// The rounds of `rank`. Sender and receiver name the same ranges in the same round. What a rank
// sends in a round that adds is neither added to afterwards nor sent again before it is complete.
std::vector<CirculantRound> circulant_rounds(int rank, int ranks);
// The chunk that `rank` completes.
int circulant_chunk(int rank, int ranks);

}  // namespace tandem::comm
