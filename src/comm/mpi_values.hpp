// MPI's data types and operations for DataType and Reduction, and a Request of MPI. Threads and
// errors as in MpiCommunicator.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "mpi_handle.hpp"
#include "tandem/comm/collectives.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {

// The type of values that are added or compared.
inline MPI_Datatype mpi_type(DataType type) {
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

// The type of values that are only moved; larger units fit more into MPI's int counts.
inline MPI_Datatype mpi_type_of_moved(DataType type) {
  switch (bytes_of_type(type)) {
    case 1:
      return MPI_BYTE;
    case 2:
      return MPI_UINT16_T;
    case 4:
      return MPI_UINT32_T;
    default:
      return MPI_UINT64_T;
  }
}

inline MPI_Op mpi_op(Reduction reduction) {
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
void for_each_piece(Buffer values, std::size_t piece, const Work& work) {
  auto* const first = static_cast<char*>(values.data);
  for (std::size_t done = 0; done < values.size; done += piece) {
    const std::size_t now = std::min(piece, values.size - done);
    work(static_cast<void*>(first + done * bytes_of_type(values.type)), static_cast<int>(now));
  }
}
// The same for the bytes of `values`.
template <typename Work>
void for_each_piece_of_bytes(Buffer values, std::size_t piece, const Work& work) {
  for_each_piece(Buffer(values.data, values.bytes(), DataType::kByte), piece, work);
}

// May own the buffer that MPI reads until the request is complete.
class MpiRequest final : public Request {
 public:
  explicit MpiRequest(std::vector<MPI_Request> requests) : requests_(std::move(requests)) {}
  // `start` begins the one request with the bytes of `sent`. Both exist before, so that no failed
  // allocation frees what MPI reads.
  template <typename Start>
  MpiRequest(std::unique_ptr<std::vector<char>> sent, const Start& start)
      : requests_{MPI_REQUEST_NULL}, sent_(std::move(sent)) {
    start(sent_->data(), &requests_.front());
  }
  ~MpiRequest() override {
    if (freeing_could_hang()) {
      static_cast<void>(sent_.release());  // MPI may still read it
      return;
    }
    // A destructor must not throw; MPI reports the error at its next call.
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
  std::unique_ptr<std::vector<char>> sent_;
};

}  // namespace tandem::comm
