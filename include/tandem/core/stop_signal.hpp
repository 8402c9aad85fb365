// Turns SIGTERM, SIGINT, SIGUSR1 and SIGHUP (unless nohup ignores it) into a request to stop, which
// the program checks where it can stop safely. One object at a time (InternalError for a second
// one). Construct and destroy it while no other thread handles signals; received() may be called on
// any thread. The destructor restores the handlers.
//
// Slurm sends SIGTERM twice within 3 ms, so a repeated signal ends the process at once only two
// seconds after the first.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>

namespace tandem {

// What asks a process to stop.
inline constexpr std::array<int, 4> kStopSignals{SIGTERM, SIGINT, SIGUSR1, SIGHUP};

// Where and how the first signal is reported.
struct StopNotice {
  int descriptor = -1;  // -1: not at all
  // The mpirun of this process; 0: none. After Ctrl-C it sends its ranks SIGCONT, and SIGTERM a
  // second or more later. If mpirun is in the foreground of the terminal, both count as Ctrl-C. The
  // SIGCONT counts only if received() was called within the last half second: otherwise it ends a
  // suspension.
  pid_t launcher = 0;
  // Number of its children at the start. If it has fewer now, a rank has ended, and mpirun ends the
  // job for this reason.
  int launcher_children = 0;
};

class StopSignal {
 public:
  // The descriptor must stay open while the object exists.
  explicit StopSignal(const StopNotice& notice = {});
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // For a process that ends the job itself: does not print the signal that the launcher then sends
  // to every rank.
  static void announce_no_more();
  // The number of the first signal since the object was made; 0: none.
  static int received();
  // The number of a process's children; 0 if it is unknown. Safe in a signal handler.
  static int count_children(pid_t process);

 private:
  std::array<struct sigaction, kStopSignals.size()> before_{};
  struct sigaction before_continue_ {};
};

// Defers kStopSignals, unless they are ignored, during short work with a temporary file, so that an
// interrupted command leaves nothing behind. Any thread may receive them, also one of MPI. The work
// calls check() between its phases; it throws Error with code 128 + n. One object at a time
// (InternalError for a second one). The destructor restores the handlers, and raises a signal that
// no check() has reported.
class InterruptGuard {
 public:
  // `left`: the end of the error's message.
  explicit InterruptGuard(std::string left = "nothing was written");
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Throws if a signal has arrived since construction, on each thread that asks.
  void check() const;

 private:
  const std::string left_;
  std::array<struct sigaction, kStopSignals.size()> before_{};
  mutable std::atomic<bool> is_reported_{false};
};

}  // namespace tandem
