// A non-blocking all-reduce for few ranks: each rank receives its chunk from all others, adds it,
// and sends the sum to all (direct reduce-scatter and all-gather). The values must live until it
// completes. Threads and errors as in MpiCommunicator.
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

namespace tandem::comm {

// With more ranks each would send too many messages.
constexpr int kMaxRanksOfDirectAllReduce = 64;

class DirectAllReduce final : public Request {
 public:
  // `tag` and `tag` + 1: not used by other all-reduces in flight, the same on every rank.
  DirectAllReduce(MPI_Comm mpi, void* values, std::size_t count, MPI_Datatype type, int tag);
  ~DirectAllReduce() override;
  void wait() override;
  bool test() override;

 private:
  int count_of(int rank) const { return static_cast<int>(chunks_.size(rank)); }
  char* values_of(int rank) const;
  char* arrived_from(int rank) const;
  void send_chunks();
  void reduce_and_send();
  void send(int to, const void* from, int count, int tag);
  void receive(int from, void* to, int count, int tag);

  const MPI_Comm mpi_;
  char* const values_;
  const MPI_Datatype type_;
  const int tag_;
  int rank_ = 0, ranks_ = 1;
  std::size_t element_bytes_ = 0;
  ChunkPartition chunks_;
  std::unique_ptr<char[]> arrived_;
  std::vector<MPI_Request> requests_;
  bool has_reduced_ = false;
};

}  // namespace tandem::comm
