#include "tandem/core/stop_signal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "tandem/core/error.hpp"

namespace tandem {
namespace {

TEST(StopSignal, RemembersTheFirstAndOutlivesARepetition) {
  const StopSignal stop;
  EXPECT_EQ(StopSignal::received(), 0);
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  std::raise(SIGUSR1);
  EXPECT_EQ(StopSignal::received(), SIGTERM);
}

TEST(StopSignal, StartsAnewAndExistsOnce) {
  {
    const StopSignal stop;
    std::raise(SIGINT);
    EXPECT_THROW(StopSignal(), InternalError);
  }
  const StopSignal stop;
  EXPECT_EQ(StopSignal::received(), 0);
}

TEST(StopSignal, IsNoNewsToAProcessThatEndsTheJobItself) {
  const StopSignal stop(true);
  StopSignal::announce_no_more();
  ::testing::internal::CaptureStderr();
  std::raise(SIGTERM);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(StopSignal::received(), SIGTERM);
}

// As with `2>&1 | less`, where nobody reads on: the run must go on to its checkpoint.
TEST(StopSignal, DoesNotWaitForAReaderOfItsAnnouncement) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  const std::vector<char> block(4096);
  while (::write(ends[1], block.data(), block.size()) > 0) {
  }
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::dup2(ends[1], STDERR_FILENO);
    const StopSignal stop(true);
    std::raise(SIGTERM);
    ::_exit(StopSignal::received() == SIGTERM ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(StopSignal, GivesTheHandlersBack) {
  struct sigaction before {};
  struct sigaction after {};
  sigaction(SIGTERM, nullptr, &before);
  { const StopSignal stop; }
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

// Slurm and mpirun send signals at the same time, and any thread may receive them. Some processes
// died of the second signal, because the first had not yet stored its time.
TEST(StopSignal, OutlivesSignalsThatComeAtOneTime) {
  constexpr int kProcesses = 500;
  int died = 0;
  for (int i = 0; i < kProcesses; ++i) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const StopSignal stop;
      std::vector<std::thread> others;
      for (int thread = 0; thread < 3; ++thread) {
        others.emplace_back([] {
          while (true) ::usleep(1);
        });
      }
      [[maybe_unused]] const ssize_t written = ::write(ready[1], "x", 1);
      while (StopSignal::received() == 0) ::usleep(1);
      ::usleep(1000);
      ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    for (const int signal : {SIGTERM, SIGUSR1, SIGTERM}) ::kill(child, signal);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    died += WIFSIGNALED(status) ? 1 : 0;
    ::close(ready[0]);
    ::close(ready[1]);
  }
  EXPECT_EQ(died, 0) << "of " << kProcesses;
}

TEST(StopSignal, EndsAtOnceWhenInsistedOnTwoSecondsLater) {
  const pid_t child = ::fork();
  if (child == 0) {
    const StopSignal stop;
    std::raise(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(2050));
    std::raise(SIGINT);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

bool is_blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

TEST(InterruptGuard, NoSignalNoError) {
  const InterruptGuard guard;
  EXPECT_NO_THROW(guard.check());
}

TEST(InterruptGuard, HeldSignalIsReportedWithItsExitCode) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const InterruptGuard guard;
    std::raise(signal);
    try {
      guard.check();
      FAIL() << "an error was expected for signal " << signal;
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), 128 + signal);
    }
    EXPECT_NO_THROW(guard.check()) << "one signal, one report";
  }
}

TEST(InterruptGuard, RestoresTheMask) {
  ASSERT_FALSE(is_blocked(SIGTERM));
  {
    const InterruptGuard guard;
    EXPECT_TRUE(is_blocked(SIGTERM));
  }
  EXPECT_FALSE(is_blocked(SIGTERM));
}

}  // namespace
}  // namespace tandem
