// What: the lifetime of MPI in this process.
// Owns: MPI_Init_thread and MPI_Finalize; make one, in main, before every communicator, and destroy
// it after them. Threads: the main thread. Throws: UnavailableError where MPI cannot start.
#pragma once

#include <string>

namespace tandem::comm {

class Runtime {
 public:
  // Asks for MPI_THREAD_MULTIPLE and makes failing calls return, so that they can be named.
  Runtime();
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Of this process among all of the job.
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
