#include "chunked_all_reduce.hpp"

#include <exception>
#include <utility>

#include "mpi_values.hpp"

namespace tandem::comm {
namespace {

int ranks_of(MPI_Comm mpi) {
  int ranks = 0;
  TANDEM_MPI(MPI_Comm_size(mpi, &ranks));
  return ranks;
}

}  // namespace

ChunkedAllReduce::ChunkedAllReduce(MPI_Comm mpi, Buffer values, int tag, MPI_Datatype type)
    : tag_(tag),
      ranks_(ranks_of(mpi)),
      mpi_(mpi),
      data_(static_cast<char*>(values.data)),
      type_(type),
      element_bytes_(bytes_of_type(values.type)),
      chunks_(values.size, ranks_) {
  TANDEM_MPI(MPI_Comm_rank(mpi_, &rank_));
}

void ChunkedAllReduce::finish() noexcept {
  if (std::exchange(is_finished_, true)) return;
  try {
    if (!freeing_could_hang()) return wait();
  } catch (const std::exception&) {
    // A destructor must not throw; MPI reports the error at its next call.
  }
  static_cast<void>(arrived_.release());  // MPI may still write to it
}

void ChunkedAllReduce::add(ChunkRange chunks, const void* from, void* to) const {
  TANDEM_MPI(MPI_Reduce_local(from, to, mpi_count_of(chunks), type_, MPI_SUM));
}

void ChunkedAllReduce::send(int to, ChunkRange chunks, int tag) {
  if (count_of(chunks) == 0) return;
  requests_.push_back(MPI_REQUEST_NULL);
  TANDEM_MPI(
      MPI_Isend(values_of(chunks), mpi_count_of(chunks), type_, to, tag, mpi_, &requests_.back()));
}

void ChunkedAllReduce::receive(int from, ChunkRange chunks, void* to, int tag) {
  if (count_of(chunks) == 0) return;
  requests_.push_back(MPI_REQUEST_NULL);
  TANDEM_MPI(MPI_Irecv(to, mpi_count_of(chunks), type_, from, tag, mpi_, &requests_.back()));
}

bool ChunkedAllReduce::are_messages_done() {
  int are_done = 0;
  TANDEM_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &are_done,
                         MPI_STATUSES_IGNORE));
  if (are_done != 0) requests_.clear();
  return are_done != 0;
}

}  // namespace tandem::comm
