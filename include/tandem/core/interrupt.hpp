// What: holds back SIGINT, SIGTERM and SIGHUP while short work with a temporary file runs, so that
// an interrupted command leaves nothing behind: the work calls check() between its phases. Owns:
// the calling thread's signal mask, restored by the destructor. Threads: the one that made it.
// Throws: Error with code 128 + n from check().
#pragma once

#include <csignal>

namespace tandem {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Throws where a signal has arrived since.
  void check() const;

 private:
  sigset_t held_;
  sigset_t before_;
};

}  // namespace tandem
