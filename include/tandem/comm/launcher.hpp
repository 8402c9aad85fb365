// What started this process as one of a job's ranks, and the other ranks that it started on this
// host, before MPI begins and after it has ended. Everything is found in the environment and in
// /proc. Nothing throws.
#pragma once

#include <thread>
#include <vector>

namespace tandem::comm {

// This process's rank as its launcher gives it by the environment; 0 where there is no launcher.
int launcher_rank();

// A process of this host that runs this program as another rank of this job.
struct RankProcess {
  int rank = 0;
  int process = 0;
  bool is_stopped = false;  // by a signal such as SIGSTOP, or by a debugger
};
// In the order of their ranks.
std::vector<RankProcess> other_ranks_of_host();
// Whether the process with this number still is that rank of this job.
bool is_rank_process(int process, int rank);

// While it lives, this process does not outlive its launcher, also where it is stopped, or a shell
// is between them. The launcher's death continues this process and the ranks of this host that are
// stopped, sends this process SIGTERM, and kills it 10 s later. Make it first in main(). Does
// nothing where there is no launcher.
class LauncherWatch {
 public:
  LauncherWatch();
  ~LauncherWatch();
  LauncherWatch(const LauncherWatch&) = delete;
  LauncherWatch& operator=(const LauncherWatch&) = delete;

 private:
  void watch() const;
  bool await_death() const;

  int launcher_ = 0;  // its process
  int pidfd_ = -1;    // of it; -1 on kernels before 5.3
  int end_ = -1;      // eventfd
  std::thread thread_;
};

}  // namespace tandem::comm
