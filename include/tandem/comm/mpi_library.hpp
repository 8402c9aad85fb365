// The MPI library that this process has loaded, as a file. Needs no Runtime. Nothing throws.
#pragma once

#include <string>

namespace tandem::comm {

// The path under which the MPI library was loaded; "" if it is linked statically.
std::string mpi_library_path();

// The mpirun that was installed with that library; "mpirun" if there is none in the folder bin
// beside that of the library, as in a distribution.
std::string mpirun_of_library();

}  // namespace tandem::comm
