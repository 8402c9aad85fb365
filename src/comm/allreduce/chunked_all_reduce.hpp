// The non-blocking all-reduces of tandem's own messages, over the chunks of ChunkPartition. The
// values must live until they complete. Threads and errors as in MpiCommunicator.
//
// Up to Open MPI 4.1 an in-place MPI_Iallreduce is a reduction to one rank and a broadcast along a
// tree (ompi/mca/coll/libnbc/nbc_iallreduce.c), in which every link moves all values first in one
// direction and then in the other. Here both directions move 2 (ranks - 1) / ranks of the values at
// the same time, the minimum (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "chunk_partition.hpp"
#include "tandem/comm/collectives.hpp"
#include "tandem/core/span.hpp"

namespace tandem::comm {

// With more ranks the direct form sends too many messages, and the ring too many in sequence.
constexpr int kMaxRanksInLinearRounds = 64;

// Each rank receives its chunk from all others, adds it, and sends the sum to all: few messages in
// sequence. `tag` and `tag` + 1: not used by other all-reduces in flight, the same on every rank.
std::unique_ptr<Request> start_direct_all_reduce(MPI_Comm mpi, Buffer values, int tag);

// Each chunk passes around the ring twice: once to be added, once to be distributed. That takes
// 2 (ranks - 1) messages in sequence. It suits hosts with several ranks: only the last rank of a
// host sends over the link. In the direct form every rank does.
std::unique_ptr<Request> start_ring_all_reduce(MPI_Comm mpi, Buffer values, int tag);

// The rounds of circulant_rounds.hpp: few messages, and few in sequence, among any number of ranks.
std::unique_ptr<Request> start_circulant_all_reduce(MPI_Comm mpi, Buffer values, int tag);

// All-reduces `values` + `errors` in the same rounds, with messages in bfloat16 and additions in
// fp32. A rank rounds each element once: its partial sum before it sends it, and in its own chunk
// the sum of all ranks. `errors`, as long as `values`, then holds this rank's rounding errors.
std::unique_ptr<Request> start_circulant_bf16_all_reduce(MPI_Comm mpi, Span<float> values,
                                                         float* errors, int tag);

// The base of all forms.
class ChunkedAllReduce : public Request {
 public:
  // `type`: MPI's type of the values, for messages and add().
  ChunkedAllReduce(MPI_Comm mpi, Buffer values, int tag, MPI_Datatype type);

 protected:
  // Waits once, without throwing. Call it in the destructor of each derived class with a test() or
  // additions of its own.
  void finish() noexcept;
  // The rank at `distance` around the ring of all ranks; may be negative.
  int rank_at(int distance) const { return (rank_ + distance + 2 * ranks_) % ranks_; }
  std::size_t first_of(ChunkRange chunks) const { return chunks_.first(chunks.first); }
  std::size_t count_of(ChunkRange chunks) const { return chunks_.size(chunks); }
  char* values_of(ChunkRange chunks) const { return data_ + first_of(chunks) * element_bytes_; }
  // Memory for `slots` chunks that arrive to be added.
  void allocate(int slots) { arrived_.reset(new char[offset_of(slots)]); }
  char* arrived_in(int slot) const { return arrived_.get() + offset_of(slot); }
  // From now on the values are those that begin in `slot`.
  void use_slot(int slot) { data_ = arrived_in(slot); }
  // `to` += `from`, which have the size of `chunks`.
  void add(ChunkRange chunks, const void* from, void* to) const;
  void send(int to, ChunkRange chunks, int tag);
  void receive(int from, ChunkRange chunks, void* to, int tag);
  bool are_messages_done();

  const int tag_;
  int rank_ = 0, ranks_ = 1;

 private:
  int mpi_count_of(ChunkRange chunks) const { return static_cast<int>(count_of(chunks)); }
  std::size_t offset_of(int slot) const {
    return static_cast<std::size_t>(slot) * chunks_.max_size() * element_bytes_;
  }

  const MPI_Comm mpi_;
  char* data_;
  const MPI_Datatype type_;
  const std::size_t element_bytes_;
  ChunkPartition chunks_;
  std::unique_ptr<char[]> arrived_;
  bool is_finished_ = false;
  std::vector<MPI_Request> requests_;
};

}  // namespace tandem::comm
