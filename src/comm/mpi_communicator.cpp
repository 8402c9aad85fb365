#include "tandem/comm/mpi_communicator.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "mpi_handle.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {
namespace {

MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::kByte:
      return MPI_BYTE;
    case DataType::kFloat32:
      return MPI_FLOAT;
    case DataType::kFloat64:
      return MPI_DOUBLE;
    case DataType::kInt64:
      return MPI_INT64_T;
    case DataType::kUint64:
      return MPI_UINT64_T;
    case DataType::kBfloat16:
      throw UnavailableError(
          "MPI cannot add bfloat16 numbers; exchange gradients in fp32, or over NCCL");
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpi_op(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return MPI_SUM;
    case Reduction::kMin:
      return MPI_MIN;
    case Reduction::kMax:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

// Calls `work(address, count)` for consecutive pieces of at most `piece` elements.
template <typename Work>
void for_each_piece(void* data, std::size_t count, std::size_t element_bytes, std::size_t piece,
                    const Work& work) {
  auto* at = static_cast<char*>(data);
  for (std::size_t done = 0; done < count; done += piece) {
    const std::size_t now = std::min(piece, count - done);
    work(static_cast<void*>(at + done * element_bytes), static_cast<int>(now));
  }
}

class MpiPending final : public Pending {
 public:
  explicit MpiPending(std::vector<MPI_Request> requests) : requests_(std::move(requests)) {}
  ~MpiPending() override {
    if (freeing_could_hang()) return;
    // A destructor must not throw; MPI says the rest at the next call.
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }
  void wait() override {
    TANDEM_MPI(
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  }
  bool test() override {
    int done = 0;
    TANDEM_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                           MPI_STATUSES_IGNORE));
    return done != 0;
  }

 private:
  std::vector<MPI_Request> requests_;
};

}  // namespace

MpiCommunicator::MpiCommunicator(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
MpiCommunicator::~MpiCommunicator() = default;
MpiCommunicator::MpiCommunicator(MpiCommunicator&&) noexcept = default;

MpiCommunicator MpiCommunicator::world() {
  MPI_Comm mpi = MPI_COMM_NULL;
  TANDEM_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &mpi));
  return MpiCommunicator(std::make_unique<Handle>(mpi));
}

MpiCommunicator MpiCommunicator::self() {
  MPI_Comm mpi = MPI_COMM_NULL;
  TANDEM_MPI(MPI_Comm_dup(MPI_COMM_SELF, &mpi));
  return MpiCommunicator(std::make_unique<Handle>(mpi));
}

MpiCommunicator MpiCommunicator::node() const {
  MPI_Comm mpi = MPI_COMM_NULL;
  TANDEM_MPI(MPI_Comm_split_type(handle_->mpi, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &mpi));
  return MpiCommunicator(std::make_unique<Handle>(mpi));
}

int MpiCommunicator::rank() const { return handle_->rank; }
int MpiCommunicator::size() const { return handle_->size; }
void MpiCommunicator::barrier() { TANDEM_MPI(MPI_Barrier(handle_->mpi)); }

void MpiCommunicator::do_all_reduce(void* data, std::size_t count, DataType type, Reduction op) {
  const MPI_Datatype mpi = mpi_type(type);
  if (size() == 1) return;  // one rank's sum is what it has
  for_each_piece(data, count, bytes_of_type(type), piece_, [&](void* at, int n) {
    TANDEM_MPI(MPI_Allreduce(MPI_IN_PLACE, at, n, mpi, mpi_op(op), handle_->mpi));
  });
}

std::unique_ptr<Pending> MpiCommunicator::do_start_all_reduce(void* data, std::size_t count,
                                                              DataType type) {
  const MPI_Datatype mpi = mpi_type(type);
  std::vector<MPI_Request> requests;
  if (size() == 1) return std::make_unique<MpiPending>(std::move(requests));
  for_each_piece(data, count, bytes_of_type(type), piece_, [&](void* at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    TANDEM_MPI(MPI_Iallreduce(MPI_IN_PLACE, at, n, mpi, MPI_SUM, handle_->mpi, &requests.back()));
  });
  return std::make_unique<MpiPending>(std::move(requests));
}

void MpiCommunicator::do_reduce(void* data, std::size_t count, DataType type, Reduction op,
                                int root) {
  for_each_piece(data, count, bytes_of_type(type), piece_, [&](void* at, int n) {
    const bool here = rank() == root;
    TANDEM_MPI(MPI_Reduce(here ? MPI_IN_PLACE : at, here ? at : nullptr, n, mpi_type(type),
                          mpi_op(op), root, handle_->mpi));
  });
}

void MpiCommunicator::do_broadcast(void* data, std::size_t bytes, int root) {
  for_each_piece(data, bytes, 1, piece_, [&](void* at, int n) {
    TANDEM_MPI(MPI_Bcast(at, n, MPI_BYTE, root, handle_->mpi));
  });
}

void MpiCommunicator::do_swap(int partner, const void* mine, void* theirs, std::size_t bytes) {
  const auto* from = static_cast<const char*>(mine);
  for_each_piece(theirs, bytes, 1, piece_, [&](void* at, int n) {
    const std::ptrdiff_t offset = static_cast<char*>(at) - static_cast<char*>(theirs);
    TANDEM_MPI(MPI_Sendrecv(from + offset, n, MPI_BYTE, partner, 0, at, n, MPI_BYTE, partner, 0,
                            handle_->mpi, MPI_STATUS_IGNORE));
  });
}

void MpiCommunicator::do_gather(const void* data, std::size_t bytes, void* all,
                                const std::vector<std::int64_t>& bytes_of) {
  std::vector<int> counts;
  std::vector<int> offsets;
  std::int64_t offset = 0;
  for (const std::int64_t each : bytes_of) {
    counts.push_back(static_cast<int>(each));
    offsets.push_back(static_cast<int>(offset));
    offset += each;
    if (offset > std::numeric_limits<int>::max()) {
      throw InternalError("texts of more than 2 GiB were gathered");
    }
  }
  TANDEM_MPI(MPI_Gatherv(data, static_cast<int>(bytes), MPI_BYTE, all, counts.data(),
                         offsets.data(), MPI_BYTE, 0, handle_->mpi));
}

}  // namespace tandem::comm
