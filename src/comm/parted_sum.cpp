#include "parted_sum.hpp"

#include <algorithm>

#include "check_mpi.hpp"
#include "mpi_handle.hpp"

namespace tandem::comm {
namespace {

// Two tags for each of so many sums that may be under way; tag 0 is MpiCommunicator's.
constexpr unsigned kSumsUnderWay = 10000;
constexpr int kFirstTag = 1;

}  // namespace

PartedSum::PartedSum(MPI_Comm mpi, void* values, int count, MPI_Datatype type, unsigned number)
    : mpi_(mpi),
      values_(static_cast<char*>(values)),
      count_(count),
      type_(type),
      tag_(kFirstTag + 2 * static_cast<int>(number % kSumsUnderWay)) {
  TANDEM_MPI(MPI_Comm_rank(mpi_, &rank_));
  TANDEM_MPI(MPI_Comm_size(mpi_, &ranks_));
  int bytes = 0;
  TANDEM_MPI(MPI_Type_size(type_, &bytes));
  element_bytes_ = static_cast<std::size_t>(bytes);
  part_ = count_ / ranks_ + (count_ % ranks_ > 0 ? 1 : 0);
  send_parts();
}

PartedSum::~PartedSum() {
  if (freeing_could_hang()) {
    arrived_.release();  // MPI may still write to it
    return;
  }
  try {
    wait();
  } catch (const std::exception&) {
    // A destructor must not throw; MPI says at the next call what is wrong.
  }
}

void PartedSum::wait() {
  while (!test()) {
  }
}

bool PartedSum::test() {
  for (;;) {
    int are_done = 0;
    TANDEM_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &are_done,
                           MPI_STATUSES_IGNORE));
    if (are_done == 0) return false;
    if (has_added_) return true;
    requests_.clear();
    add_and_send_sum();
  }
}

int PartedSum::first_of(int rank) const {
  return static_cast<int>(std::min<long long>(count_, 1LL * rank * part_));
}
int PartedSum::count_of(int rank) const { return std::min(part_, count_ - first_of(rank)); }
char* PartedSum::values_of(int rank) const {
  return values_ + static_cast<std::size_t>(first_of(rank)) * element_bytes_;
}
char* PartedSum::arrived_from(int rank) const {
  const int slot = rank < rank_ ? rank : rank - 1;
  return arrived_.get() +
         static_cast<std::size_t>(slot) * static_cast<std::size_t>(part_) * element_bytes_;
}

void PartedSum::send_parts() {
  const auto others = static_cast<std::size_t>(ranks_ - 1);
  arrived_.reset(new char[others * static_cast<std::size_t>(part_) * element_bytes_]);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) receive(rank, arrived_from(rank), count_of(rank_), tag_);
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) send(rank, values_of(rank), count_of(rank), tag_);
  }
}

void PartedSum::add_and_send_sum() {
  has_added_ = true;
  char* const own = values_of(rank_);
  const int count = count_of(rank_);
  // MPI_Reduce_local adds to its second operand.
  char* sum = rank_ == 0 ? own : arrived_from(0);
  for (int rank = 1; rank < ranks_; ++rank) {
    TANDEM_MPI(
        MPI_Reduce_local(rank == rank_ ? own : arrived_from(rank), sum, count, type_, MPI_SUM));
  }
  if (sum != own) std::copy_n(sum, static_cast<std::size_t>(count) * element_bytes_, own);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) receive(rank, values_of(rank), count_of(rank), tag_ + 1);
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) send(rank, own, count, tag_ + 1);
  }
}

void PartedSum::send(int to, const void* from, int count, int tag) {
  if (count == 0) return;
  requests_.push_back(MPI_REQUEST_NULL);
  TANDEM_MPI(MPI_Isend(from, count, type_, to, tag, mpi_, &requests_.back()));
}

void PartedSum::receive(int from, void* to, int count, int tag) {
  if (count == 0) return;
  requests_.push_back(MPI_REQUEST_NULL);
  TANDEM_MPI(MPI_Irecv(to, count, type_, from, tag, mpi_, &requests_.back()));
}

}  // namespace tandem::comm
