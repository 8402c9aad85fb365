// The non-blocking collectives of MpiCommunicator.
#include <algorithm>
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

// Several requests that the caller holds as one.
class RequestGroup final : public Request {
 public:
  explicit RequestGroup(std::vector<std::unique_ptr<Request>> all) : all_(std::move(all)) {}
  bool test() override { return test_all(all_); }

 private:
  std::vector<std::unique_ptr<Request>> all_;
};

// Starts MPI_Iallreduce with a copy of the values to send. In place Open MPI sends all values along
// a binomial tree; with two buffers it chooses by size (ompi/mca/coll/libnbc/nbc_iallreduce.c).
std::unique_ptr<Request> start_library_all_reduce(MPI_Comm mpi, Buffer values) {
  const auto* const first = static_cast<const char*>(values.data);
  auto sent = std::make_unique<std::vector<char>>(first, first + values.bytes());
  return std::make_unique<MpiRequest>(
      std::move(sent), [&](const char* bytes, MPI_Request* request) {
        TANDEM_MPI(MPI_Iallreduce(bytes, values.data, static_cast<int>(values.size),
                                  mpi_type(values.type), MPI_SUM, mpi, request));
      });
}

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

int MpiCommunicator::next_tag() {
  return kFirstTag + 2 * static_cast<int>(handle_->started_all_reduces++ % kMaxInFlight);
}

std::unique_ptr<Request> MpiCommunicator::iall_reduce_along(Route route, Buffer values) {
  mpi_type(values.type);  // a single rank refuses bfloat16, too
  if (size() == 1) return completed_request();
  const bool are_many = size() > kMaxRanksInLinearRounds && route != Route::kLibrary;
  const auto start = [&](Buffer piece) -> std::unique_ptr<Request> {
    switch (are_many ? Route::kCirculant : route) {
      case Route::kDirect:
        return start_direct_all_reduce(handle_->mpi, piece, next_tag());
      case Route::kRing:
        return start_ring_all_reduce(handle_->mpi, piece, next_tag());
      case Route::kCirculant:
        return start_circulant_all_reduce(handle_->mpi, piece, next_tag());
      case Route::kLibrary:
        return start_library_all_reduce(handle_->mpi, piece);
    }
    return nullptr;
  };
  if (values.size <= piece_) return start(values);
  std::vector<std::unique_ptr<Request>> pieces;
  for_each_piece(values, piece_, [&](void* at, int n) {
    pieces.push_back(start({at, static_cast<std::size_t>(n), values.type}));
  });
  return std::make_unique<RequestGroup>(std::move(pieces));
}

std::unique_ptr<Request> MpiCommunicator::iall_reduce_as_bfloat16(Span<float> values,
                                                                  float* errors) {
  if (size() == 1) return completed_request();
  constexpr std::size_t kMaxValues = std::numeric_limits<int>::max();  // half of them are a message
  if (values.size() > kMaxValues) {
    throw InternalError(std::to_string(values.size()) +
                        " values in bfloat16; one sum has at most " + std::to_string(kMaxValues) +
                        "; fix: give a smaller --bucket-mb");
  }
  return start_circulant_bf16_all_reduce(handle_->mpi, values, errors, next_tag());
}

std::unique_ptr<Request> MpiCommunicator::ibarrier() {
  std::vector<MPI_Request> requests{MPI_REQUEST_NULL};
  TANDEM_MPI(MPI_Ibarrier(handle_->mpi, &requests.front()));
  return std::make_unique<MpiRequest>(std::move(requests));
}

std::unique_ptr<Request> MpiCommunicator::do_ireduce(Buffer values) {
  const MPI_Datatype mpi = mpi_type(values.type);
  if (size() == 1) return completed_request();
  const bool here = rank() == 0;
  std::vector<MPI_Request> requests;
  for_each_piece(values, piece_, [&](void* at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    TANDEM_MPI(MPI_Ireduce(here ? MPI_IN_PLACE : at, here ? at : nullptr, n, mpi, MPI_SUM, 0,
                           handle_->mpi, &requests.back()));
  });
  return std::make_unique<MpiRequest>(std::move(requests));
}

std::unique_ptr<Request> MpiCommunicator::do_ibroadcast(Buffer values) {
  if (size() == 1) return completed_request();
  std::vector<MPI_Request> requests;
  for_each_piece_of_bytes(values, piece_, [&](void* at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    TANDEM_MPI(MPI_Ibcast(at, n, MPI_BYTE, 0, handle_->mpi, &requests.back()));
  });
  return std::make_unique<MpiRequest>(std::move(requests));
}

std::unique_ptr<Request> MpiCommunicator::do_iall_to_all(const void* mine, Buffer theirs) {
  const int chunk = chunk_count(theirs.size, size());
  if (size() == 1) {
    std::copy_n(static_cast<const char*>(mine), theirs.bytes(), static_cast<char*>(theirs.data));
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
