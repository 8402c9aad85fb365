// An owned MPI communicator, and the check of MPI calls. Only comm includes mpi.h.
#pragma once

#include <mpi.h>

#include <exception>

#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {

// Throws InternalError with MPI's text, the call and its place; returns where `code` is
// MPI_SUCCESS.
void check_mpi(int code, const char* call, const char* file, int line);
#define TANDEM_MPI(call) ::tandem::comm::check_mpi((call), #call, __FILE__, __LINE__)

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
