// How every all-reduce of tandem cuts an array into chunks, and in which order up to 64 ranks add
// them: chunk r belongs to rank r and is added from rank r + 1 around to rank r. This is the order
// that a ring imposes; an algorithm that has all values can reproduce it. So all transports give
// the same bits. For more ranks see circulant_rounds.hpp.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tandem::comm {

// Consecutive chunks. The number of a chunk converts to the range of that chunk alone.
struct ChunkRange {
  ChunkRange(int first_chunk, int number = 1) : first(first_chunk), count(number) {}
  int first, count;
};

class ChunkPartition {
 public:
  ChunkPartition(std::size_t count, int ranks)
      : count_(count),
        chunk_size_((lines_of(count) + of(ranks) - 1) / of(ranks) * kElementsPerLine) {}

  // Element numbers; with few elements the last chunks are empty.
  std::size_t first(int chunk) const { return std::min(count_, of(chunk) * chunk_size_); }
  std::size_t size(ChunkRange chunks) const {
    return first(chunks.first + chunks.count) - first(chunks.first);
  }
  // The size of the longest chunk.
  std::size_t max_size() const { return chunk_size_; }

 private:
  static constexpr std::size_t kElementsPerLine = 16;  // floats, which two ranks should not share

  static std::size_t of(int number) { return static_cast<std::size_t>(number); }
  static std::size_t lines_of(std::size_t count) {
    return (count + kElementsPerLine - 1) / kElementsPerLine;
  }

  std::size_t count_, chunk_size_;
};

}  // namespace tandem::comm
