#include "tandem/core/stop_signal.hpp"

#include <fcntl.h>
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
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"

namespace tandem {
namespace {

constexpr std::int64_t kMillisecondsToInsist = 2000;

// A handler can reach nothing but such.
std::atomic<bool> installed{false};
std::atomic<int> first_signal{0};
std::atomic<std::int64_t> first_at{0};  // milliseconds; 0: none has come
// Written before the handler is installed.
StopNotice notice_of_first;
std::atomic<bool> announces_first{false};
std::atomic<bool> first_was_hint{false};  // a SIGCONT, before mpirun's SIGTERM
std::atomic<std::int64_t> last_look{0};   // milliseconds
constexpr std::int64_t kRecently = 500;   // milliseconds
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
      return "tandem: stopping after this step; press again after 2 s to end it at once\n";
    case SIGTERM:
      return "tandem: SIGTERM: stopping after this step; another after 2 s ends it at once\n";
    case SIGUSR1:
      return "tandem: SIGUSR1: stopping after this step; another after 2 s ends it at once\n";
    default:
      return "tandem: SIGHUP: stopping after this step; another after 2 s ends it at once\n";
  }
}

bool launcher_has_terminal() {
  const pid_t in_front = ::tcgetpgrp(notice_of_first.descriptor);
  return in_front > 0 && in_front == ::getpgid(notice_of_first.launcher);
}

// mpirun sends the same signals after Ctrl-C, after a SIGTERM of its own, after MPI_Abort, and
// after the death of a rank.
const char* announcement_of_launcher() {
  const int children = StopSignal::count_children(notice_of_first.launcher);
  if (children > 0 && children < notice_of_first.launcher_children) {
    return "tandem: a rank has died, so the job ends; --resume auto resumes the run\n";
  }
  return launcher_has_terminal()
             ? "tandem: stopping after this step (Ctrl-C, or the launcher ends the job)\n"
             : "tandem: SIGTERM: stopping after this step, because the launcher ends the job\n";
}

// A reader that has stopped reading must not keep the handler, and so the run, from going on.
void write_if_ready(int descriptor, std::string_view text) {
  pollfd waited{descriptor, POLLOUT, 0};
  if (::poll(&waited, 1, 0) != 1) return;
  [[maybe_unused]] const ssize_t written = ::write(descriptor, text.data(), text.size());
}

// In one write. On a shared terminal the row is cleared, of the ^C as well that the terminal wrote
// behind the live line; elsewhere a ^C may stand in the way.
void announce(int signal, pid_t sender) {
  char text[256];
  std::size_t size = 0;
  const auto append = [&](std::string_view part) {
    std::memcpy(text + size, part.data(), part.size());
    size += part.size();
  };
  const StopNotice& notice = notice_of_first;
  const bool is_launchers =
      (signal == SIGTERM || signal == SIGCONT) && notice.launcher != 0 && sender == notice.launcher;
  const int row = notice.descriptor == STDOUT_FILENO ? STDOUT_FILENO : STDERR_FILENO;
  const std::string_view cleaner = row_cleaner(row);
  const bool may_follow_key =
      signal == SIGINT || (is_launchers && ::isatty(notice.descriptor) == 1);
  append(cleaner.empty() && may_follow_key ? "\n" : cleaner);
  append(is_launchers ? announcement_of_launcher() : announcement_of(signal));
  write_if_ready(notice.descriptor, {text, size});
}

// Whether this SIGCONT comes from Ctrl-C and does not end a suspension.
bool is_hint(const siginfo_t& info, std::int64_t now) {
  return info.si_pid == notice_of_first.launcher && now - last_look < kRecently &&
         launcher_has_terminal();
}

void on_signal(int signal, siginfo_t* info, void* /*context*/) {
  const int errno_before = errno;
  const std::int64_t now = std::max<std::int64_t>(now_in_milliseconds(), 1);
  // Signals may arrive on several threads at once: one becomes the first, the others see its time.
  std::int64_t first = 0;
  if (signal == SIGCONT && !is_hint(*info, now)) {
    // The process goes on.
  } else if (first_at.compare_exchange_strong(first, now)) {
    first_signal = signal == SIGCONT ? SIGINT : signal;
    first_was_hint = signal == SIGCONT;
    if (announces_first) announce(signal, info->si_pid);
  } else if (first_was_hint.exchange(false)) {
    first_at = now;  // mpirun's SIGTERM after its SIGCONT is no second request
  } else if (signal != SIGCONT && now - first >= kMillisecondsToInsist) {
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      write_if_ready(descriptor, row_cleaner(descriptor));
    }
    // Ends the process as the signal would have, when this handler returns; except for PID 1.
    if (::getpid() == 1) ::_exit(kSignalBase + signal);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  errno = errno_before;
}

// Of InterruptGuard.
std::atomic<bool> guarded{false};
std::atomic<int> interrupt{0};  // the first signal
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void on_interrupt(int signal) {
  int none = 0;
  interrupt.compare_exchange_strong(none, signal);
}

}  // namespace

StopSignal::StopSignal(const StopNotice& notice) {
  if (installed.exchange(true)) throw InternalError("a second StopSignal was made");
  first_signal = 0;
  first_at = 0;
  first_was_hint = false;
  last_look = 0;
  notice_of_first = notice;
  announces_first = notice.descriptor >= 0;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGTTOU);  // writing to mpirun's terminal from another group raises it
  for (const int signal : kStopSignals) sigaddset(&action.sa_mask, signal);
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    sigaction(kStopSignals[i], &action, &before_[i]);
    const bool stays_ignored = kStopSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (stays_ignored) sigaction(kStopSignals[i], &before_[i], nullptr);
  }
  if (notice.launcher != 0) sigaction(SIGCONT, &action, &before_continue_);
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    sigaction(kStopSignals[i], &before_[i], nullptr);
  }
  if (notice_of_first.launcher != 0) sigaction(SIGCONT, &before_continue_, nullptr);
  installed = false;
}

void StopSignal::announce_no_more() { announces_first = false; }

int StopSignal::received() {
  last_look = now_in_milliseconds();
  return first_signal;
}

int StopSignal::count_children(pid_t process) {
  // "/proc/PID/task/PID/children" (proc(5)), without the functions that a handler must not call.
  char path[64] = "/proc/";
  char digits[16];
  std::size_t size = std::strlen(path);
  const auto append = [&](std::string_view part) {
    std::memcpy(path + size, part.data(), part.size());
    size += part.size();
  };
  std::size_t begin = sizeof digits;
  for (pid_t rest = process; rest > 0; rest /= 10) {
    digits[--begin] = static_cast<char>('0' + rest % 10);
  }
  const std::string_view number(digits + begin, sizeof digits - begin);
  append(number);
  append("/task/");
  append(number);
  append("/children");
  path[size] = '\0';
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  char text[4096];
  int children = 0;
  ssize_t got = 0;
  while ((got = ::read(descriptor, text, sizeof text)) > 0) {
    children += static_cast<int>(std::count(text, text + got, ' '));  // each number ends with one
  }
  ::close(descriptor);
  return children;
}

InterruptGuard::InterruptGuard(std::string left) : left_(std::move(left)) {
  if (guarded.exchange(true)) throw InternalError("a second InterruptGuard was made");
  interrupt = 0;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    sigaction(kStopSignals[i], nullptr, &before_[i]);
    // An ignored signal stays ignored; nohup ignores SIGHUP.
    if (before_[i].sa_handler != SIG_IGN) sigaction(kStopSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    sigaction(kStopSignals[i], &before_[i], nullptr);
  }
  const int signal = interrupt;
  guarded = false;
  if (signal != 0 && !is_reported_) std::raise(signal);
}

void InterruptGuard::check() const {
  const int signal = interrupt;
  if (signal == 0) return;
  is_reported_ = true;
  throw Error(ExitCode{kSignalBase + signal},
              "interrupted by signal " + std::to_string(signal) + "; " + left_);
}

}  // namespace tandem
