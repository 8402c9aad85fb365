// MPI_Allreduce without tandem's own algorithms, as the reference of `tandem bench allreduce`. The
// communicator must outlive it. Throws InternalError.
#pragma once

#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/core/span.hpp"

namespace tandem::comm {

class BareAllReduce {
 public:
  explicit BareAllReduce(MpiCommunicator& comm) : comm_(comm) {}
  // Collective. The sum, in place; at most 2^31 - 1 values.
  void operator()(Span<float> values) const;

 private:
  MpiCommunicator& comm_;
};

}  // namespace tandem::comm
