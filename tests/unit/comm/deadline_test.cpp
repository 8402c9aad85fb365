#include "tandem/comm/deadline.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace tandem::comm {
namespace {

TEST(Deadline, SpeaksOnceItIsMissed) {
  std::atomic<int> late{0};
  const Deadline deadline(0.01, [&] { ++late; });
  while (late == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(late, 1);
}

// The whole job may be suspended, for hours.
TEST(Deadline, DoesNotCountTimeForWhichTheProcessIsStopped) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Deadline deadline(3, [] { ::_exit(1); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // its thread waits then
    ::kill(::getpid(), SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(std::chrono::seconds(4));
  ::kill(child, SIGCONT);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Deadline, IsSilentWhereItIsMetOrThereIsNone) {
  std::atomic<int> late{0};
  {
    const Deadline met(60, [&] { ++late; });
  }
  {
    const Deadline never(0, [&] { ++late; });
  }
  EXPECT_EQ(late, 0);
}

}  // namespace
}  // namespace tandem::comm
