#include "ring_all_reduce.hpp"

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

RingAllReduce::RingAllReduce(MPI_Comm mpi, void* values, std::size_t count, MPI_Datatype type,
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
  arrived_.reset(new char[chunks_.max_size() * element_bytes_]);
  try {
    start_step();
  } catch (...) {
    arrived_.release();  // MPI may write to it
    throw;
  }
}

RingAllReduce::~RingAllReduce() {
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

void RingAllReduce::wait() {
  while (!test()) {
  }
}

bool RingAllReduce::test() {
  while (step_ < 2 * (ranks_ - 1)) {
    int are_done = 0;
    TANDEM_MPI(MPI_Testall(2, requests_, &are_done, MPI_STATUSES_IGNORE));
    if (are_done == 0) return false;
    if (is_reducing()) {
      const int chunk = rank_at(-2 - step_);
      TANDEM_MPI(MPI_Reduce_local(arrived_.get(), values_of(chunk),
                                  static_cast<int>(chunks_.size(chunk)), type_, MPI_SUM));
    }
    ++step_;
    start_step();
  }
  return true;
}

char* RingAllReduce::values_of(int chunk) const {
  return values_ + chunks_.first(chunk) * element_bytes_;
}

// Chunk r starts at rank r + 1 and, after ranks - 1 steps, is complete at rank r.
void RingAllReduce::start_step() {
  if (step_ >= 2 * (ranks_ - 1)) return;
  const int there = is_reducing() ? rank_at(-1 - step_) : rank_at(ranks_ - 1 - step_);
  const int here = (there + ranks_ - 1) % ranks_;
  void* const to = is_reducing() ? arrived_.get() : values_of(here);
  TANDEM_MPI(MPI_Irecv(to, static_cast<int>(chunks_.size(here)), type_, rank_at(-1), tag_, mpi_,
                       &requests_[0]));
  TANDEM_MPI(MPI_Isend(values_of(there), static_cast<int>(chunks_.size(there)), type_, rank_at(1),
                       tag_, mpi_, &requests_[1]));
}

}  // namespace tandem::comm
