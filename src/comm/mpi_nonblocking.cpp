// The non-blocking collectives of MpiCommunicator.
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "allreduce/chunked_all_reduce.hpp"
#include "mpi_handle.hpp"
#include "mpi_values.hpp"

namespace tandem::comm {
namespace {

// Two tags for each all-reduce in flight; tag 0 is MpiCommunicator's.
constexpr unsigned kMaxInFlight = 10000;
constexpr int kFirstTag = 1;

std::unique_ptr<Request> completed_request() {
  return std::make_unique<MpiRequest>(std::vector<MPI_Request>());
}

// The elements of each rank's chunk of `count`.
int chunk_count(std::size_t count, int ranks) {
  const auto divisor = static_cast<std::size_t>(ranks);
  constexpr auto kMaxInt = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (count % divisor != 0 || count / divisor > kMaxInt) {
    throw InternalError(std::to_string(count) + " values cannot be cut into " +
                        std::to_string(ranks) + " equal parts that MPI can count");
  }
  return static_cast<int>(count / divisor);
}

}  // namespace

std::unique_ptr<Request> MpiCommunicator::iall_reduce_along(Route route, Buffer values) {
  const MPI_Datatype mpi = mpi_type(values.type);
  if (size() == 1) return completed_request();
  if (size() <= kMaxRanksOfChunkedAllReduce && values.size <= piece_) {
    const int tag = kFirstTag + 2 * static_cast<int>(handle_->started_all_reduces++ % kMaxInFlight);
    return (route == Route::kRing ? start_ring_all_reduce : start_direct_all_reduce)(handle_->mpi,
                                                                                     values, tag);
  }
  std::vector<MPI_Request> requests;
  for_each_piece(values, piece_, [&](void* at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    TANDEM_MPI(MPI_Iallreduce(MPI_IN_PLACE, at, n, mpi, MPI_SUM, handle_->mpi, &requests.back()));
  });
  return std::make_unique<MpiRequest>(std::move(requests));
}

std::unique_ptr<Request> MpiCommunicator::do_ireduce(Buffer values, int root) {
  const MPI_Datatype mpi = mpi_type(values.type);
  if (size() == 1) return completed_request();
  const bool here = rank() == root;
  std::vector<MPI_Request> requests;
  for_each_piece(values, piece_, [&](void* at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    TANDEM_MPI(MPI_Ireduce(here ? MPI_IN_PLACE : at, here ? at : nullptr, n, mpi, MPI_SUM, root,
                           handle_->mpi, &requests.back()));
  });
  return std::make_unique<MpiRequest>(std::move(requests));
}

std::unique_ptr<Request> MpiCommunicator::do_ibroadcast(Buffer values, int root) {
  if (size() == 1) return completed_request();
  std::vector<MPI_Request> requests;
  for_each_piece_of_bytes(values, piece_, [&](void* at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    TANDEM_MPI(MPI_Ibcast(at, n, MPI_BYTE, root, handle_->mpi, &requests.back()));
  });
  return std::make_unique<MpiRequest>(std::move(requests));
}

std::unique_ptr<Request> MpiCommunicator::do_iall_to_all(const void* mine, Buffer theirs) {
  const int chunk = chunk_count(theirs.size, size());
  if (size() == 1) {
    std::memcpy(theirs.data, mine, theirs.bytes());
    return completed_request();
  }
  const MPI_Datatype mpi = mpi_type_of_moved(theirs.type);
  std::vector<MPI_Request> requests{MPI_REQUEST_NULL};
  TANDEM_MPI(
      MPI_Ialltoall(mine, chunk, mpi, theirs.data, chunk, mpi, handle_->mpi, &requests.front()));
  return std::make_unique<MpiRequest>(std::move(requests));
}

std::unique_ptr<Request> MpiCommunicator::do_iall_gather(Buffer values) {
  const int chunk = chunk_count(values.size, size());
  if (size() == 1) return completed_request();
  const MPI_Datatype mpi = mpi_type_of_moved(values.type);
  std::vector<MPI_Request> requests{MPI_REQUEST_NULL};
  TANDEM_MPI(MPI_Iallgather(MPI_IN_PLACE, chunk, mpi, values.data, chunk, mpi, handle_->mpi,
                            &requests.front()));
  return std::make_unique<MpiRequest>(std::move(requests));
}

}  // namespace tandem::comm
