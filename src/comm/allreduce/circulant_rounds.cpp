#include "circulant_rounds.hpp"

#include <algorithm>
#include <utility>

namespace tandem::comm {
namespace {

std::vector<int> prime_factors(int number) {
  std::vector<int> factors;
  for (int factor = 2; number > 1; ++factor) {
    if (factor * factor > number) factor = number;
    for (; number % factor == 0; number /= factor) factors.push_back(factor);
  }
  return factors;
}

// A rank's place in a line of the grid. The ranks of a line hold the same chunks: `length` blocks
// of `block_chunks` from `first_chunk` on.
struct Line {
  int length, stride, place;
  int first_chunk, block_chunks;

  int rank_at(int distance, int rank) const {
    return rank + ((place + distance + length) % length - place) * stride;
  }
  // `count` blocks from the one at `distance` on.
  std::array<ChunkRange, 2> blocks(int distance, int count) const {
    const int first = (place + distance) % length;
    const int before_end = std::min(count, length - first);
    return {ChunkRange{first_chunk + first * block_chunks, before_end * block_chunks},
            ChunkRange{first_chunk, (count - before_end) * block_chunks}};
  }
};

template <typename Visit>
void for_each_line(int rank, int ranks, const Visit& visit) {
  Line line{1, 1, 0, 0, ranks};
  for (const int factor : prime_factors(ranks)) {
    line.length = factor;
    line.place = rank / line.stride % factor;
    line.block_chunks /= factor;
    visit(line);
    line.first_chunk += line.place * line.block_chunks;
    line.stride *= factor;
  }
}

}  // namespace

std::vector<CirculantRound> circulant_rounds(int rank, int ranks) {
  std::vector<CirculantRound> rounds;
  for_each_line(rank, ranks, [&](const Line& line) {
    // After each round the rank still adds the blocks at distances 0 to `left` - 1.
    for (int left = line.length; left > 1;) {
      const int skip = (left + 1) / 2;
      rounds.push_back({true, line.rank_at(skip, rank), line.rank_at(-skip, rank),
                        line.blocks(skip, left - skip), line.blocks(0, left - skip)});
      left = skip;
    }
  });
  for (std::size_t reducing = rounds.size(); reducing > 0; --reducing) {
    CirculantRound round = rounds[reducing - 1];
    round.adds = false;
    std::swap(round.to, round.from);
    std::swap(round.sent, round.received);
    rounds.push_back(round);
  }
  return rounds;
}

int circulant_chunk(int rank, int ranks) {
  int chunk = 0;
  for_each_line(rank, ranks, [&](const Line& line) {
    chunk = line.first_chunk + line.place * line.block_chunks;
  });
  return chunk;
}

}  // namespace tandem::comm
