#include "tandem/metrics/run_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"

namespace tandem::metrics {
namespace {

TEST(RunLock, KeepsASecondOneOutWhileTheFirstLives) {
  const testing::TempDir folder;
  {
    EXPECT_FALSE(RunLock::is_held(folder.path()));
    const RunLock first(folder.path());
    EXPECT_TRUE(RunLock::is_held(folder.path()));
    EXPECT_EQ(first.warning(), "");
    try {
      const RunLock second(folder.path());
      FAIL() << "two locks on one folder";
    } catch (const CannotCreateError& error) {
      EXPECT_NE(std::string(error.what()).find("process " + std::to_string(::getpid())),
                std::string::npos)
          << error.what();
    }
  }
  EXPECT_TRUE(file_exists(folder / "run.lock"));
  EXPECT_FALSE(RunLock::is_held(folder.path()));
  EXPECT_NO_THROW(RunLock(folder.path()));
}

TEST(RunLock, GoesWithTheProcess) {
  const testing::TempDir folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const RunLock lock(folder.path());
    [[maybe_unused]] const ssize_t written = ::write(ready[1], "x", 1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THROW(RunLock(folder.path()), CannotCreateError);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(RunLock(folder.path()));
}

}  // namespace
}  // namespace tandem::metrics
