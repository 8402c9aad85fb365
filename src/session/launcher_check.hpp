// A launcher that belongs to another MPI than the program's starts processes that MPI does not
// connect. Each would train alone, and all would write the same run folder.
#pragma once

namespace tandem::app {

// Throws UnavailableError if Open MPI's mpirun started this process and its library is another
// MPI's. MPICH's MPI_Init would end the process with a message of its own.
void require_launcher_before_mpi();

// Throws UnavailableError if this process is a job of one rank (`world` is 1) and its launcher
// started more ranks. Call it after MPI_Init, in every rank. Ranks except 0 wait first, so that a
// launcher that ends a job at its first failure shows one message.
void require_launcher_of_this_mpi(int world);

}  // namespace tandem::app
