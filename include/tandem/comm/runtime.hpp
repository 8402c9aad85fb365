// MPI_Init_thread and MPI_Finalize. Make one before all communicators, and destroy it
// after them. Throws UnavailableError if MPI cannot start.
#pragma once

#include <string>

namespace tandem::comm {

class Runtime {
 public:
  // Requests MPI_THREAD_MULTIPLE, and lets failing calls return so that they can be reported.
  Runtime();
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // In MPI_COMM_WORLD.
  int rank() const;
  int world() const;

  // Whether several threads may call MPI at a time.
  static bool allows_threads();

  // Ends every rank of the job; the launcher returns `code`. Takes at most 2 s.
  [[noreturn]] static void abort(int code);
};

// The MPI library's own description of itself, first line; needs no Runtime.
std::string mpi_library_version();

// MPI's name of this host; needs a Runtime.
std::string host_name();

}  // namespace tandem::comm
