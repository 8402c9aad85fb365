// The calls that go on while the caller does something else.
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "mpi_handle.hpp"
#include "mpi_values.hpp"
#include "parted_sum.hpp"
#include "ring_sum.hpp"

namespace tandem::comm {
namespace {

// Two tags for each of so many sums that may be under way; tag 0 is MpiCommunicator's.
constexpr unsigned kSumsUnderWay = 10000;
constexpr int kFirstTag = 1;

std::unique_ptr<Pending> nothing_to_wait_for() {
  return std::make_unique<MpiPending>(std::vector<MPI_Request>());
}

// Elements of each rank's part of `count`.
int count_of_part(std::size_t count, int ranks) {
  const auto parts = static_cast<std::size_t>(ranks);
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (count % parts != 0 || count / parts > kMost) {
    throw InternalError(std::to_string(count) + " values cannot be cut into " +
                        std::to_string(ranks) + " equal parts that MPI can count");
  }
  return static_cast<int>(count / parts);
}

}  // namespace

std::unique_ptr<Pending> MpiCommunicator::do_start_all_reduce(void* data, std::size_t count,
                                                              DataType type) {
  const MPI_Datatype mpi = mpi_type(type);
  if (size() == 1) return nothing_to_wait_for();
  if (size() <= kMostRanksOfPartedSum && count <= piece_) {
    const int tag = kFirstTag + 2 * static_cast<int>(handle_->started_sums++ % kSumsUnderWay);
    if (handle_->sums_along_ring) {
      return std::make_unique<RingSum>(handle_->mpi, data, count, mpi, tag);
    }
    return std::make_unique<PartedSum>(handle_->mpi, data, count, mpi, tag);
  }
  std::vector<MPI_Request> requests;
  for_each_piece(data, count, bytes_of_type(type), piece_, [&](void* at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    TANDEM_MPI(MPI_Iallreduce(MPI_IN_PLACE, at, n, mpi, MPI_SUM, handle_->mpi, &requests.back()));
  });
  return std::make_unique<MpiPending>(std::move(requests));
}

std::unique_ptr<Pending> MpiCommunicator::do_start_reduce(void* data, std::size_t count,
                                                          DataType type, int root) {
  const MPI_Datatype mpi = mpi_type(type);
  if (size() == 1) return nothing_to_wait_for();
  const bool here = rank() == root;
  std::vector<MPI_Request> requests;
  for_each_piece(data, count, bytes_of_type(type), piece_, [&](void* at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    TANDEM_MPI(MPI_Ireduce(here ? MPI_IN_PLACE : at, here ? at : nullptr, n, mpi, MPI_SUM, root,
                           handle_->mpi, &requests.back()));
  });
  return std::make_unique<MpiPending>(std::move(requests));
}

std::unique_ptr<Pending> MpiCommunicator::do_start_broadcast(void* data, std::size_t bytes,
                                                             int root) {
  if (size() == 1) return nothing_to_wait_for();
  std::vector<MPI_Request> requests;
  for_each_piece(data, bytes, 1, piece_, [&](void* at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    TANDEM_MPI(MPI_Ibcast(at, n, MPI_BYTE, root, handle_->mpi, &requests.back()));
  });
  return std::make_unique<MpiPending>(std::move(requests));
}

std::unique_ptr<Pending> MpiCommunicator::do_start_all_to_all(const void* mine, void* theirs,
                                                              std::size_t count, DataType type) {
  const int part = count_of_part(count, size());
  if (size() == 1) {
    std::memcpy(theirs, mine, count * bytes_of_type(type));
    return nothing_to_wait_for();
  }
  const MPI_Datatype mpi = mpi_type_of_moved(type);
  std::vector<MPI_Request> requests{MPI_REQUEST_NULL};
  TANDEM_MPI(MPI_Ialltoall(mine, part, mpi, theirs, part, mpi, handle_->mpi, &requests.front()));
  return std::make_unique<MpiPending>(std::move(requests));
}

std::unique_ptr<Pending> MpiCommunicator::do_start_all_gather(void* values, std::size_t count,
                                                              DataType type) {
  const int part = count_of_part(count, size());
  if (size() == 1) return nothing_to_wait_for();
  const MPI_Datatype mpi = mpi_type_of_moved(type);
  std::vector<MPI_Request> requests{MPI_REQUEST_NULL};
  TANDEM_MPI(
      MPI_Iallgather(MPI_IN_PLACE, part, mpi, values, part, mpi, handle_->mpi, &requests.front()));
  return std::make_unique<MpiPending>(std::move(requests));
}

}  // namespace tandem::comm
