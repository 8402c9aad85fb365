#include "direct_all_reduce.hpp"

#include <exception>

#include "check_mpi.hpp"
#include "mpi_handle.hpp"

namespace tandem::comm {
namespace {

int ranks_of(MPI_Comm mpi) {
  int ranks = 0;
  TANDEM_MPI(MPI_Comm_size(mpi, &ranks));
  return ranks;
}

}  // namespace

DirectAllReduce::DirectAllReduce(MPI_Comm mpi, void* values, std::size_t count, MPI_Datatype type,
                                 int tag)
    : mpi_(mpi),
      values_(static_cast<char*>(values)),
      type_(type),
      tag_(tag),
      ranks_(ranks_of(mpi)),
      chunks_(count, ranks_) {
  TANDEM_MPI(MPI_Comm_rank(mpi_, &rank_));
  int bytes = 0;
  TANDEM_MPI(MPI_Type_size(type_, &bytes));
  element_bytes_ = static_cast<std::size_t>(bytes);
  try {
    send_chunks();
  } catch (...) {
    arrived_.release();  // MPI may write to it
    throw;
  }
}

DirectAllReduce::~DirectAllReduce() {
  if (freeing_could_hang()) {
    arrived_.release();  // MPI may still write to it
    return;
  }
  try {
    wait();
  } catch (const std::exception&) {
    // A destructor must not throw; MPI says at the next call what is wrong, and may still write.
    arrived_.release();
  }
}

void DirectAllReduce::wait() {
  while (!test()) {
  }
}

bool DirectAllReduce::test() {
  for (;;) {
    int are_done = 0;
    TANDEM_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &are_done,
                           MPI_STATUSES_IGNORE));
    if (are_done == 0) return false;
    if (has_reduced_) return true;
    requests_.clear();
    reduce_and_send();
  }
}

char* DirectAllReduce::values_of(int rank) const {
  return values_ + chunks_.first(rank) * element_bytes_;
}
char* DirectAllReduce::arrived_from(int rank) const {
  const int slot = rank < rank_ ? rank : rank - 1;
  return arrived_.get() + static_cast<std::size_t>(slot) * chunks_.max_size() * element_bytes_;
}

void DirectAllReduce::send_chunks() {
  const auto others = static_cast<std::size_t>(ranks_ - 1);
  arrived_.reset(new char[others * chunks_.max_size() * element_bytes_]);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) receive(rank, arrived_from(rank), count_of(rank_), tag_);
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) send(rank, values_of(rank), count_of(rank), tag_);
  }
}

void DirectAllReduce::reduce_and_send() {
  char* const own = values_of(rank_);
  const int count = count_of(rank_);
  // MPI_Reduce_local adds to its second operand. The order is that of ChunkPartition.
  const auto after = [this](int distance) { return (rank_ + distance) % ranks_; };
  for (int distance = 1; distance < ranks_; ++distance) {
    void* const sum = distance + 1 < ranks_ ? arrived_from(after(distance + 1)) : own;
    TANDEM_MPI(MPI_Reduce_local(arrived_from(after(distance)), sum, count, type_, MPI_SUM));
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) receive(rank, values_of(rank), count_of(rank), tag_ + 1);
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) send(rank, own, count, tag_ + 1);
  }
  has_reduced_ = true;
}

void DirectAllReduce::send(int to, const void* from, int count, int tag) {
  if (count == 0) return;
  requests_.push_back(MPI_REQUEST_NULL);
  TANDEM_MPI(MPI_Isend(from, count, type_, to, tag, mpi_, &requests_.back()));
}

void DirectAllReduce::receive(int from, void* to, int count, int tag) {
  if (count == 0) return;
  requests_.push_back(MPI_REQUEST_NULL);
  TANDEM_MPI(MPI_Irecv(to, count, type_, from, tag, mpi_, &requests_.back()));
}

}  // namespace tandem::comm
