#include "tandem/comm/mpi_communicator.hpp"

#include <limits>
#include <utility>

#include "mpi_handle.hpp"
#include "mpi_values.hpp"
#include "tandem/comm/runtime.hpp"

namespace tandem::comm {

MpiCommunicator::MpiCommunicator(std::unique_ptr<Handle> handle, std::size_t piece)
    : handle_(std::move(handle)), piece_(piece) {}
MpiCommunicator::~MpiCommunicator() = default;
MpiCommunicator::MpiCommunicator(MpiCommunicator&&) noexcept = default;

MpiCommunicator MpiCommunicator::world() {
  MPI_Comm mpi = MPI_COMM_NULL;
  TANDEM_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &mpi));
  return {std::make_unique<Handle>(mpi), kMaxPiece};
}

MpiCommunicator MpiCommunicator::self() {
  MPI_Comm mpi = MPI_COMM_NULL;
  TANDEM_MPI(MPI_Comm_dup(MPI_COMM_SELF, &mpi));
  return {std::make_unique<Handle>(mpi), kMaxPiece};
}

MpiCommunicator MpiCommunicator::node() const {
  MPI_Comm mpi = MPI_COMM_NULL;
  TANDEM_MPI(MPI_Comm_split_type(handle_->mpi, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &mpi));
  return {std::make_unique<Handle>(mpi), piece_};
}

MpiCommunicator MpiCommunicator::duplicate() const {
  MPI_Comm mpi = MPI_COMM_NULL;
  TANDEM_MPI(MPI_Comm_dup(handle_->mpi, &mpi));
  return {std::make_unique<Handle>(mpi), piece_};
}

MpiCommunicator MpiCommunicator::split(int color) const {
  MPI_Comm mpi = MPI_COMM_NULL;
  TANDEM_MPI(MPI_Comm_split(handle_->mpi, color, rank(), &mpi));
  return {std::make_unique<Handle>(mpi), piece_};
}

int MpiCommunicator::rank() const { return handle_->rank; }
int MpiCommunicator::size() const { return handle_->size; }
bool MpiCommunicator::is_test_thread_safe() const { return Runtime::allows_threads(); }
void MpiCommunicator::barrier() { TANDEM_MPI(MPI_Barrier(handle_->mpi)); }

void MpiCommunicator::do_all_reduce_by(Reduction op, Buffer values) {
  const MPI_Datatype mpi = mpi_type(values.type);
  if (size() == 1) return;  // one rank's sum is what it has
  for_each_piece(values, piece_, [&](void* at, int n) {
    TANDEM_MPI(MPI_Allreduce(MPI_IN_PLACE, at, n, mpi, mpi_op(op), handle_->mpi));
  });
}

void MpiCommunicator::do_reduce(Buffer values, Reduction op) {
  for_each_piece(values, piece_, [&](void* at, int n) {
    const bool here = rank() == 0;
    TANDEM_MPI(MPI_Reduce(here ? MPI_IN_PLACE : at, here ? at : nullptr, n, mpi_type(values.type),
                          mpi_op(op), 0, handle_->mpi));
  });
}

void MpiCommunicator::do_broadcast(Buffer values, int root) {
  for_each_piece_of_bytes(values, piece_, [&](void* at, int n) {
    TANDEM_MPI(MPI_Bcast(at, n, MPI_BYTE, root, handle_->mpi));
  });
}

void MpiCommunicator::do_sendrecv(int partner, const void* mine, Buffer theirs) {
  const auto* from = static_cast<const char*>(mine);
  for_each_piece_of_bytes(theirs, piece_, [&](void* at, int n) {
    const std::ptrdiff_t offset = static_cast<char*>(at) - static_cast<char*>(theirs.data);
    TANDEM_MPI(MPI_Sendrecv(from + offset, n, MPI_BYTE, partner, 0, at, n, MPI_BYTE, partner, 0,
                            handle_->mpi, MPI_STATUS_IGNORE));
  });
}

void MpiCommunicator::do_gather(const void* mine, void* all,
                                const std::vector<std::int64_t>& bytes_of) {
  std::vector<int> counts;
  std::vector<int> offsets;
  std::int64_t offset = 0;
  for (const std::int64_t each : bytes_of) {
    counts.push_back(static_cast<int>(each));
    offsets.push_back(static_cast<int>(offset));
    offset += each;
    if (offset > std::numeric_limits<int>::max()) {
      throw InternalError("gather: more than 2 GiB, the most that MPI_Gatherv's int counts hold");
    }
  }
  TANDEM_MPI(MPI_Gatherv(mine, counts[static_cast<std::size_t>(rank())], MPI_BYTE, all,
                         counts.data(), offsets.data(), MPI_BYTE, 0, handle_->mpi));
}

}  // namespace tandem::comm
