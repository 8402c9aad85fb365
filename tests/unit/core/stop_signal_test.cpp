#include "tandem/core/stop_signal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <string>
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
  const StopSignal stop(StopNotice{STDERR_FILENO, 0, 0});
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
    const StopSignal stop(StopNotice{STDERR_FILENO, 0, 0});
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

// A launcher with its own terminal, and one rank with its own process group, as under mpirun. The
// rank calls `before`. The launcher sends it a SIGCONT. The rank's exit code is that of `after`.
struct Launched {
  int status = -1;
  std::string shown;
};
Launched launch(int children, const std::function<void()>& before,
                const std::function<int()>& after) {
  Launched result;
  int master = -1;
  const pid_t launcher = ::forkpty(&master, nullptr, nullptr, nullptr);
  if (launcher == 0) {
    ::alarm(30);
    int ready[2];
    int sent[2];
    if (::pipe(ready) != 0 || ::pipe(sent) != 0) ::_exit(99);
    const pid_t rank = ::fork();
    char byte = 'x';
    if (rank == 0) {
      ::setpgid(0, 0);
      const StopSignal stop(StopNotice{STDERR_FILENO, ::getppid(), children});
      before();
      [[maybe_unused]] ssize_t moved = ::write(ready[1], &byte, 1);
      moved = ::read(sent[0], &byte, 1);
      ::_exit(after());
    }
    [[maybe_unused]] ssize_t moved = ::read(ready[0], &byte, 1);
    ::kill(rank, SIGCONT);
    moved = ::write(sent[1], &byte, 1);
    int status = 0;
    ::waitpid(rank, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
  }
  char text[256];
  for (ssize_t got = 0; (got = ::read(master, text, sizeof text)) > 0;)
    result.shown.append(text, got);
  int status = 0;
  ::waitpid(launcher, &status, 0);
  ::close(master);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

// mpirun sends its SIGTERM a second or more after the SIGCONT.
TEST(StopSignal, CtrlCReachesARankAsASigcontOfItsLauncher) {
  const Launched result = launch(
      1, [] { StopSignal::received(); },
      [] {
        if (StopSignal::received() != SIGINT) return 1;
        std::this_thread::sleep_for(std::chrono::milliseconds(2050));
        std::raise(SIGTERM);  // the user has sent no second request
        return 0;
      });
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.shown,
            "\r\ntandem: stopping after this step (Ctrl-C, or the launcher ends the job)\r\n");
}

TEST(StopSignal, ARankThatWasSuspendedGoesOn) {
  const Launched result = launch(
      1, [] {}, [] { return StopSignal::received(); });
  EXPECT_EQ(result.status, 0) << "it had not been looked at";
  EXPECT_EQ(result.shown, "");
}

TEST(StopSignal, FewerChildrenOfTheLauncherMeanThatARankHasEnded) {
  const Launched result = launch(
      2, [] { StopSignal::received(); }, [] { return 0; });
  EXPECT_NE(result.shown.find("tandem: a rank has died, so the job ends"), std::string::npos)
      << result.shown;
  EXPECT_EQ(StopSignal::count_children(::getpid()), 0);
}

TEST(InterruptGuard, NoSignalNoError) {
  const InterruptGuard guard;
  EXPECT_NO_THROW(guard.check());
}

TEST(InterruptGuard, HeldSignalIsReportedWithItsExitCode) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    const InterruptGuard guard;
    std::raise(signal);
    try {
      guard.check();
      FAIL() << "an error was expected for signal " << signal;
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), 128 + signal);
    }
    EXPECT_THROW(guard.check(), Error) << "for threads that ask later";
  }
}

TEST(InterruptGuard, SaysWhatIsLeft) {
  const InterruptGuard guard("complete files are kept");
  std::raise(SIGTERM);
  try {
    guard.check();
    FAIL() << "an error was expected";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "interrupted by signal 15; complete files are kept");
  }
}

TEST(InterruptGuard, AnotherThreadMayReceiveTheSignal) {
  std::promise<void> end;
  std::thread other([&] { end.get_future().wait(); });  // started before, as MPI's threads
  {
    const InterruptGuard guard;
    pthread_kill(other.native_handle(), SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const auto is_reported = [&] {
      try {
        guard.check();
        return false;
      } catch (const Error&) {
        return true;
      }
    };
    while (!is_reported()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
  end.set_value();
  other.join();
}

TEST(InterruptGuard, ASignalThatWasNotReportedEndsTheProcess) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(InterruptGuard, LeavesIgnoredSignalsAndRestoresHandlers) {
  std::signal(SIGHUP, SIG_IGN);
  {
    const InterruptGuard guard;
    std::raise(SIGHUP);
    EXPECT_NO_THROW(guard.check());
    EXPECT_THROW(InterruptGuard second, InternalError);
  }
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_DFL);
}

}  // namespace
}  // namespace tandem
