// What tandem must know of each program that starts ranks. src/comm/launchers has a file for each
// family. docs/launchers.md says what a user can expect. Usable before MPI_Init and after
// MPI_Finalize. Nothing throws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::comm {

// The ranks that a command line starts.
struct LaunchLine {
  std::uint64_t ranks = 1;
  std::string hosts;      // "n1:4,n2:2"; empty: those of host_file or of the batch system
  std::string host_file;  // has a line for each rank; its name as a shell word; empty: none
  std::uint64_t ranks_per_host = 0;  // for those of host_file; 0: unequal
  std::uint64_t cpus_per_rank = 0;   // cores to which a rank is bound; 0: not bound
  bool leaves_host = false;          // whether a link between hosts may fail
};

// Names are nullptr where a launcher has none.
struct Launcher {
  const char* name = nullptr;     // as `tandem emit --mpi` takes it
  const char* title = nullptr;    // as users know it
  const char* library = nullptr;  // the beginning of its MPI's MPI_Get_library_version()

  // Variables of the environment of each rank. No other launcher sets `mark`. `job` has one value
  // in all processes of a job, including shells between launcher and rank.
  const char* mark = nullptr;
  const char* rank = nullptr;
  const char* size = nullptr;
  const char* job = nullptr;
  const char* binding = nullptr;  // the word after --bind-to, if the user gave one

  // The file names of the processes between a rank and the user on the launcher's own host. The
  // streams of the outermost one show where the output goes.
  std::vector<const char*> programs;
  const char* start = nullptr;  // beginning of a printed command, before the number of ranks
  // Whether the launcher, after Ctrl-C, prints no output of its ranks for two seconds and ends them
  // by SIGCONT and SIGTERM. Other launchers pass SIGINT on.
  bool holds_output_after_interrupt = false;

  // If `prints` is 1 in a rank's first environment, the launcher prints lines of its own after an
  // exit code other than 0, unless `is_quiet` is 1.
  const char* prints = nullptr;
  const char* is_quiet = nullptr;

  // Fixes that `doctor` names.
  const char* unbind = nullptr;  // lets ranks use more than one core
  const char* no_process_reads =
      nullptr;  // "NAME=VALUE": no copies between the memories of two ranks
  const char* choose_interface = nullptr;  // names the network between hosts

  // How a batch system connects ranks of its MPI: srun --mpi=…, flux run -o pmi=….
  const char* srun_mpi = nullptr;
  const char* flux_pmi = nullptr;

  // The words before the program that start it on these ranks; nullptr: only the batch system knows
  // the hosts.
  std::vector<std::string> (*words)(const LaunchLine& line) = nullptr;
};

Launcher open_mpi_4();
Launcher open_mpi_5();
Launcher pmix();
Launcher mpich();
Launcher intel_mpi();
Launcher flux();
Launcher slurm();

// All launchers, the closest to the rank first: in a job of Slurm, mpirun's variables count.
std::vector<Launcher> all_launchers();
// The first of these whose rank variable this process has; without one, `rank` is nullptr.
Launcher launcher_of_process();
// The words before the number of ranks that start this program as it was started, such as
// "mpirun --bind-to none -np "; "" if no launcher is recognized.
std::string start_of_process();
// The launcher of the MPI library that this program uses; Open MPI 4's if the library is unknown.
Launcher launcher_of_library();

}  // namespace tandem::comm
