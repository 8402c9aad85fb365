// Turns a failed MPI call into an exception that names the call. Only comm includes mpi.h.
#pragma once

#include <mpi.h>

namespace tandem::comm {

// Throws InternalError with MPI's text, the call and its place; returns where `code` is
// MPI_SUCCESS.
void check_mpi(int code, const char* call, const char* file, int line);

}  // namespace tandem::comm

#define TANDEM_MPI(call) ::tandem::comm::check_mpi((call), #call, __FILE__, __LINE__)
