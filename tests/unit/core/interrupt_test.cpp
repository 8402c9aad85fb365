#include <gtest/gtest.h>

#include <csignal>

#include "tandem/core/error.hpp"
#include "tandem/core/stop_signal.hpp"

namespace tandem {
namespace {

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
