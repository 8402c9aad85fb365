#include "tandem/comm/mpi_library.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <filesystem>
#include <system_error>

namespace tandem::comm {

namespace fs = std::filesystem;

std::string mpi_library_path() {
  Dl_info found{};
  const bool is_found = ::dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &found) != 0;
  return is_found && found.dli_fname != nullptr ? found.dli_fname : "";
}

std::string mpirun_of_library() {
  const fs::path folder = fs::path(mpi_library_path()).parent_path();
  const fs::path beside = (folder / "../bin/mpirun").lexically_normal();
  std::error_code error;
  return fs::exists(beside, error) ? beside.string() : "mpirun";
}

}  // namespace tandem::comm
