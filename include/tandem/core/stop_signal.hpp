// What: turns SIGTERM, SIGINT, SIGUSR1 and SIGHUP (unless nohup has it ignored) into a request to
// stop, which the program asks for where stopping is safe. Owns: the process's handlers for them,
// restored by the destructor; one object at a time. Threads: received() from any; make and destroy
// it where no other thread handles signals. Throws: InternalError for a second object.
//
// Slurm sends SIGTERM twice within 3 ms, so a repeated signal ends the process at once only two
// seconds after the first.
#pragma once

#include <array>
#include <csignal>

namespace tandem {

class StopSignal {
 public:
  // `announces`: says on standard error that the first signal has arrived, and which.
  explicit StopSignal(bool announces = false);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // For a process that ends the job itself: the signal that the launcher then sends to every rank
  // is no news.
  static void announce_no_more();
  // The number of the first signal since the object was made; 0: none.
  static int received();

 private:
  static constexpr std::array<int, 4> kSignals{SIGTERM, SIGINT, SIGUSR1, SIGHUP};
  std::array<struct sigaction, 4> before_{};
};

}  // namespace tandem
