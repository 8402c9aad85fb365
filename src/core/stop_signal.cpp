#include "tandem/core/stop_signal.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string_view>

#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"

namespace tandem {
namespace {

constexpr std::int64_t kMillisecondsToInsist = 2000;

// A handler can reach nothing but such.
std::atomic<bool> installed{false};
std::atomic<int> first_signal{0};
std::atomic<std::int64_t> first_at{0};  // milliseconds; 0: none has come
std::atomic<bool> announces_first{false};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "used in a signal handler");

std::int64_t now_in_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1000} + now.tv_nsec / 1'000'000;
}

// Ctrl-C at a terminal needs another text than a signal in a log.
const char* announcement_of(int signal) {
  switch (signal) {
    case SIGINT:
      return "tandem: stopping after this step; press again after 2 s to end at once\n";
    case SIGTERM:
      return "tandem: SIGTERM: stopping after this step; another after 2 s ends it at once\n";
    case SIGUSR1:
      return "tandem: SIGUSR1: stopping after this step; another after 2 s ends it at once\n";
    default:
      return "tandem: SIGHUP: stopping after this step; another after 2 s ends it at once\n";
  }
}

// A reader that has stopped reading must not keep the handler, and so the run, from going on.
void write_if_ready(int descriptor, std::string_view text) {
  pollfd waited{descriptor, POLLOUT, 0};
  if (::poll(&waited, 1, 0) != 1) return;
  [[maybe_unused]] const ssize_t written = ::write(descriptor, text.data(), text.size());
}

// In one write. On a shared terminal the row is cleared, of the ^C as well that the terminal wrote
// behind the live line; elsewhere a ^C may stand in the way.
void announce(int signal) {
  char text[128];
  std::size_t size = 0;
  const auto append = [&](std::string_view part) {
    std::memcpy(text + size, part.data(), part.size());
    size += part.size();
  };
  const std::string_view cleaner = row_cleaner(STDERR_FILENO);
  append(cleaner.empty() && signal == SIGINT ? "\n" : cleaner);
  append(announcement_of(signal));
  write_if_ready(STDERR_FILENO, {text, size});
}

void on_signal(int signal) {
  const int errno_before = errno;
  const std::int64_t now = std::max<std::int64_t>(now_in_milliseconds(), 1);
  // Signals may arrive on several threads at once: one becomes the first, the others see its time.
  std::int64_t first = 0;
  if (first_at.compare_exchange_strong(first, now)) {
    first_signal = signal;
    if (announces_first) announce(signal);
  } else if (now - first >= kMillisecondsToInsist) {
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      write_if_ready(descriptor, row_cleaner(descriptor));
    }
    // Ends the process as the signal would have, when this handler returns.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  errno = errno_before;
}

}  // namespace

StopSignal::StopSignal(bool announces) {
  if (installed.exchange(true)) throw InternalError("a second StopSignal was made");
  first_signal = 0;
  first_at = 0;
  announces_first = announces;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &before_[i]);
    const bool stays_ignored = kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (stays_ignored) sigaction(kSignals[i], &before_[i], nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  installed = false;
}

void StopSignal::announce_no_more() { announces_first = false; }

int StopSignal::received() { return first_signal; }

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
