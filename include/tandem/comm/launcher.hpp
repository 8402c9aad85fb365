// The launcher that started this process as a rank of a job, and the job's other ranks on this
// host. Usable before MPI_Init and after MPI_Finalize: everything comes from the environment and
// /proc. Nothing throws.
#pragma once

#include <string>
#include <thread>
#include <vector>

namespace tandem::comm {

// This process's rank according to the launcher's environment variables; 0 without a launcher.
int launcher_rank();

// Whether the mpirun of this process prints lines of its own after an exit code except 0. False
// under srun and `mpirun --quiet`.
bool launcher_reports_exit_code();

// The PID of the parent of a process; 0 if it has none or is gone.
int parent_of(int process);

// The first of a process and its ancestors without this entry, "NAME=VALUE", in its environment.
int first_without(int process, const std::string& entry);

// A process on this host that runs this program as another rank of this job.
struct RankProcess {
  int rank = 0;
  int process = 0;
  bool is_stopped = false;  // by a signal such as SIGSTOP, or by a debugger
};
// In the order of their ranks.
std::vector<RankProcess> other_ranks_of_host();
// Whether the process with this PID is still that rank of this job.
bool is_rank_process(int process, int rank);

// While this object exists, the process does not outlive its launcher, even if the process is
// stopped or a shell is between them. When the launcher dies, it continues this process and stopped
// ranks of this host, sends this process SIGTERM, and kills it 10 s later. Construct it first in
// main(). Does nothing without a launcher.
class LauncherWatch {
 public:
  LauncherWatch();
  ~LauncherWatch();
  LauncherWatch(const LauncherWatch&) = delete;
  LauncherWatch& operator=(const LauncherWatch&) = delete;

 private:
  void watch() const;
  bool await_death() const;

  int launcher_ = 0;  // its PID
  int pidfd_ = -1;    // of the launcher; -1 on kernels before 5.3
  int end_ = -1;      // eventfd
  std::thread thread_;
};

}  // namespace tandem::comm
