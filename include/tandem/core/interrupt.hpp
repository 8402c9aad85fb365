// Defers SIGINT, SIGTERM and SIGHUP during short work with a temporary file, so that an interrupted
// command leaves nothing behind. The work calls check() between its phases; it throws Error with
// code 128 + n. The destructor, on the same thread, restores the thread's signal mask.
#pragma once

#include <csignal>

namespace tandem {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Throws if a signal has arrived since construction.
  void check() const;

 private:
  sigset_t held_;
  sigset_t before_;
};

}  // namespace tandem
