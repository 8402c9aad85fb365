// What: an array of floats of each rank of a host, in memory that all of them reach, so that sums
// need no copies and no messages but two barriers.
// Owns: its mappings; nothing of them is in a file system, and nothing stays when a rank is killed.
// Threads: one at a time. Throws: InternalError naming the failed call.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/span.hpp"

namespace tandem::comm {

class SharedFloats {
 public:
  // Collective. `host`: the ranks of one host. `count` floats for each rank, 0 at first; nullptr on
  // all ranks where one cannot reach another's, as those of different containers cannot.
  static std::shared_ptr<SharedFloats> make(Communicator& host, std::size_t count);
  ~SharedFloats();
  SharedFloats(const SharedFloats&) = delete;
  SharedFloats& operator=(const SharedFloats&) = delete;

  // This rank's.
  Span<float> mine() const;
  // Whether `values` begin among them.
  bool has(Span<const float> values) const;
  // Collective, of the ranks that made it. `values`, a part of mine(), the same part on each rank,
  // become the sum of all. Each rank adds a part, in the order of ChunkPartition, and writes it
  // into all.
  void sum(Communicator& host, Span<float> values);

 private:
  explicit SharedFloats(std::size_t count) : count_(count) {}
  bool map(Communicator& host);

  const std::size_t count_;
  std::size_t rank_ = 0;
  std::vector<float*> rank_segments_;  // nullptr: not reached
};

}  // namespace tandem::comm
