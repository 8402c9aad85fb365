// A non-blocking ring all-reduce: each chunk passes around the ring once to be added and once to be
// distributed. The values must live until it completes. Threads and errors as in MpiCommunicator.
//
// It suits hosts with several ranks: of ranks that are neighbors on a host only the last one sends
// over the link, 2 (ranks - 1) / ranks of the values; in a DirectAllReduce all of them do. It takes
// 2 (ranks - 1) messages in sequence (Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms", 2009).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "chunk_partition.hpp"
#include "tandem/comm/collectives.hpp"

namespace tandem::comm {

class RingAllReduce final : public Request {
 public:
  // `tag`: not used by other all-reduces in flight, the same on every rank.
  RingAllReduce(MPI_Comm mpi, void* values, std::size_t count, MPI_Datatype type, int tag);
  ~RingAllReduce() override;
  void wait() override;
  bool test() override;

 private:
  bool is_reducing() const { return step_ < ranks_ - 1; }
  // The rank at `distance` along the ring; may be negative.
  int rank_at(int distance) const { return (rank_ + distance + 2 * ranks_) % ranks_; }
  char* values_of(int chunk) const;
  void start_step();

  const MPI_Comm mpi_;
  char* const values_;
  const MPI_Datatype type_;
  const int tag_;
  int rank_ = 0, ranks_ = 1, step_ = 0;
  std::size_t element_bytes_ = 0;
  ChunkPartition chunks_;
  std::unique_ptr<char[]> arrived_;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

}  // namespace tandem::comm
