// What: MPI_Allreduce with nothing of ours around it, which `tandem bench allreduce` measures its
// own exchange beside.
// Owns: nothing; the communicator must outlive it. Threads: as MpiCommunicator. Throws:
// InternalError.
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
