// An owned MPI communicator.
#pragma once

#include <mpi.h>

#include <exception>

#include "check_mpi.hpp"
#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {

// Freeing is collective. A rank on its way out of an error must not wait for ranks that have none.
// Its caller then ends the job, and MPI_Finalize or MPI_Abort cleans up.
inline bool freeing_could_hang() { return std::uncaught_exceptions() > 0; }

struct MpiCommunicator::Handle {
  // Takes ownership of `communicator`.
  explicit Handle(MPI_Comm communicator) : mpi(communicator) {
    TANDEM_MPI(MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN));
    TANDEM_MPI(MPI_Comm_rank(mpi, &rank));
    TANDEM_MPI(MPI_Comm_size(mpi, &size));
  }
  ~Handle() {
    if (!freeing_could_hang()) MPI_Comm_free(&mpi);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  MPI_Comm mpi;
  int rank = 0;
  int size = 1;
  unsigned started_all_reduces = 0;
};

}  // namespace tandem::comm
