#include "tandem/core/stop_signal.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

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
  testing::internal::CaptureStderr();
  std::raise(SIGTERM);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(StopSignal::received(), SIGTERM);
}

TEST(StopSignal, GivesTheHandlersBack) {
  struct sigaction before {};
  struct sigaction after {};
  sigaction(SIGTERM, nullptr, &before);
  { const StopSignal stop; }
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
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

}  // namespace
}  // namespace tandem
