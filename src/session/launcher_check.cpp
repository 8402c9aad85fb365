#include "launcher_check.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "tandem/comm/launcher.hpp"
#include "tandem/comm/mpi_library.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr auto kWaitOfRank = std::chrono::milliseconds(200);
constexpr int kMaxWaits = 10;
// Slurm's variables do not count: srun without a PMI sets them, too, and is reported elsewhere.
constexpr const char* kWorldVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

// "PMI_SIZE=2"; "" without a launcher.
std::string launched_world() {
  for (const char* name : kWorldVariables) {
    if (const char* value = std::getenv(name)) return std::string(name) + "=" + value;
  }
  return "";
}

// The program of the first ancestor outside the job. Shells between it and the rank have the job's
// variables.
std::string launcher_program(const std::string& entry) {
  const int process = comm::first_without(::getppid(), entry);
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", error).string();
}

// Throws if a launcher started several ranks.
void require_one_launched() {
  const std::string entry = launched_world();
  const int launched = std::atoi(entry.substr(entry.find('=') + 1).c_str());
  if (launched <= 1) return;
  std::this_thread::sleep_for(std::min(comm::launcher_rank(), kMaxWaits) * kWaitOfRank);
  const std::string launcher = launcher_program(entry);
  throw UnavailableError(
      "the launcher " + (launcher.empty() ? "of this job" : launcher) + " started " +
      std::to_string(launched) + " ranks (" + entry + "), and the MPI library of this program, " +
      comm::mpi_library_version() + " (" + comm::mpi_library_path() +
      "), belongs to another launcher and does not connect the ranks: each would train alone; "
      "start it with the launcher of that library: " +
      comm::mpirun_of_library() + " -np " + std::to_string(launched) + " tandem …");
}

}  // namespace

void require_launcher_before_mpi() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr || std::getenv("PMI_RANK") != nullptr) return;
  if (begins_with(comm::mpi_library_version(), "Open MPI")) return;
  require_one_launched();
}

void require_launcher_of_this_mpi(int world) {
  if (world == 1) require_one_launched();
}

}  // namespace tandem::app
