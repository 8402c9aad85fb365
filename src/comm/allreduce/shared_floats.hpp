// One array of floats per rank of a host, in memory that all ranks of the host map. An all-reduce
// then needs two barriers, but no copies and no messages. The memory has no name in a file system,
// and a killed rank leaves nothing behind. One thread at a time. Throws InternalError naming the
// failed call.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/span.hpp"

namespace tandem::comm {

class SharedFloats {
 public:
  // Collective. `host`: the ranks of one host. `count` floats per rank, initially 0. Returns
  // nullptr on all ranks if one cannot map another's memory, as in different containers.
  static std::shared_ptr<SharedFloats> make(Communicator& host, std::size_t count);
  ~SharedFloats();
  SharedFloats(const SharedFloats&) = delete;
  SharedFloats& operator=(const SharedFloats&) = delete;

  // This rank's array.
  Span<float> mine() const;
  // Collective over the ranks that made it. All-reduces `values`, the same range of mine() on each
  // rank. Each rank adds its chunk in the order of ChunkPartition and writes it into all arrays.
  void sum(Communicator& host, Span<float> values);
  // The halves of sum(), between barriers of the caller. `chunk`, a range of mine() or empty,
  // becomes the sum of that range of all arrays, or is written into all of them. Each element
  // belongs to the chunk of one rank at most.
  void reduce(Span<float> chunk);
  void share(Span<float> chunk);

 private:
  void add_all(std::size_t at, std::size_t count, float* sums) const;
  std::size_t index_of(Span<float> values) const {
    return static_cast<std::size_t>(values.data() - mine().data());
  }
  explicit SharedFloats(std::size_t count) : count_(count) {}
  bool map(Communicator& host);

  const std::size_t count_;
  std::size_t rank_ = 0;
  std::vector<float*> rank_segments_;  // nullptr: not mapped
};

}  // namespace tandem::comm
