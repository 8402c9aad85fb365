#include "tandem/core/interrupt.hpp"

#include <pthread.h>

#include <ctime>

#include "tandem/core/error.hpp"

namespace tandem {

InterruptGuard::InterruptGuard() {
  sigemptyset(&held_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // A blocked signal is kept even where it is ignored, as nohup does with SIGHUP.
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&held_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

InterruptGuard::~InterruptGuard() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void InterruptGuard::check() const {
  const timespec at_once{0, 0};
  const int signal = sigtimedwait(&held_, nullptr, &at_once);
  if (signal <= 0) return;
  throw Error(static_cast<ExitCode>(static_cast<int>(ExitCode::kSignalBase) + signal),
              "interrupted by signal " + std::to_string(signal) + "; nothing was written");
}

}  // namespace tandem
