#include "tandem/metrics/run_lock.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include "lock_record.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem::metrics {
namespace {

LockSettings without_waiting() {
  LockSettings settings;
  settings.ending_seconds = 0;
  return settings;
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(RunLock, KeepsASecondOneOutWhileTheFirstLives) {
  const testing::TempDir folder;
  {
    EXPECT_FALSE(RunLock::is_held(folder.path()));
    const RunLock first(folder.path());
    EXPECT_TRUE(RunLock::is_held(folder.path()));
    EXPECT_NO_THROW(first.require_held());
    try {
      const RunLock second(folder.path(), without_waiting());
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
  EXPECT_THROW(RunLock(folder.path(), without_waiting()), CannotCreateError);
  end(child);
  EXPECT_NO_THROW(RunLock(folder.path()));
}

TEST(RunLock, WaitsForAProcessThatEnds) {
  const testing::TempDir folder;
  std::optional<RunLock> ending(folder.path());
  LockSettings settings;
  settings.pause = [&](double) { ending.reset(); };
  EXPECT_NO_THROW(RunLock(folder.path(), settings));
}

TEST(RunLock, WaitsForAProcessThatHasLostTheKernelsLockWhileItEnds) {
  const testing::TempDir folder;
  const pid_t child = ::fork();
  if (child == 0) ::pause();
  LockRecord ending = LockRecord::of_this_process();
  ending.process = child;
  ending.started = start_of_process(child).value();
  std::ofstream file(folder / "run.lock");
  struct stat status {};
  EXPECT_EQ(::stat((folder / "run.lock").c_str(), &status), 0);
  ending.inode = status.st_ino;
  file << ending.text() << std::flush;
  EXPECT_THROW(RunLock(folder.path(), without_waiting()), CannotCreateError);
  LockSettings settings;
  int pauses = 0;
  settings.pause = [&](double) {
    if (++pauses == 3) end(child);
  };
  EXPECT_NO_THROW(RunLock(folder.path(), settings));
  EXPECT_EQ(pauses, 3);
  if (pauses < 3) end(child);
}

// Another host is simulated by what it writes into run.lock, because its locks are not visible.
class ForeignLock : public ::testing::Test {
 protected:
  void SetUp() override {
    owner_.process = 4711;
    owner_.host = "there";
    owner_.boot = "another";
    owner_.token = "theirs";
    write();
    settings_.pause = [this](double seconds) {
      ++pauses_;
      waited_ += seconds;
      if (between_looks_) between_looks_();
    };
    settings_.on_wait = [this](const std::string& words) { said_ += words; };
  }
  void write() const { write_file_atomically(folder_ / "run.lock", owner_.text()); }
  std::string content() const { return read_file(folder_ / "run.lock"); }
  void take() { const RunLock lock(folder_.path(), settings_); }
  void expect_refused(const std::string& owner) {
    try {
      take();
      FAIL() << "it was taken over after " << waited_ << " s";
    } catch (const CannotCreateError& error) {
      EXPECT_NE(std::string(error.what()).find(owner), std::string::npos) << error.what();
    }
  }

  const testing::TempDir folder_;
  LockRecord owner_;
  LockSettings settings_;
  std::function<void()> between_looks_;
  int pauses_ = 0;
  double waited_ = 0;
  std::string said_;
};

TEST_F(ForeignLock, IsTakenAfterItsSilence) {
  take();
  EXPECT_DOUBLE_EQ(waited_, settings_.silence_seconds + settings_.settle_seconds);
  EXPECT_EQ(said_, folder_.path() +
                       ": was last used by process 4711 on there, which did not record its end; "
                       "watching its heartbeat in run.lock for 30 s");
  pauses_ = 0;
  take();
  EXPECT_EQ(pauses_, 0) << "a clean end leaves nothing to wait for";
}

TEST_F(ForeignLock, IsRefusedAsSoonAsItBeats) {
  between_looks_ = [this] {
    if (pauses_ != 100) return;
    ++owner_.beat;
    write();
  };
  expect_refused("process 4711 on there");
  EXPECT_EQ(pauses_, 100);
  EXPECT_EQ(content(), owner_.text()) << "nothing was written by the second";
}

TEST_F(ForeignLock, IsTakenAtOnceWhereItIsReleasedMeanwhile) {
  between_looks_ = [this] {
    owner_.released = true;
    if (pauses_ == 5) write();
  };
  take();
  EXPECT_DOUBLE_EQ(waited_, 5 * settings_.look_seconds + settings_.settle_seconds);
}

TEST_F(ForeignLock, GoesToOneOfTwoThatRaceForIt) {
  LockRecord rival = owner_;
  rival.process = 4712;
  rival.token = "the rival's";
  between_looks_ = [&] {
    if (waited_ > settings_.silence_seconds) {
      write_file_atomically(folder_ / "run.lock", rival.text());
    }
  };
  expect_refused("process 4712 on there");
  EXPECT_EQ(content(), rival.text());
}

TEST_F(ForeignLock, BeatsAndNoticesWhoHasTakenItOver) {
  owner_.released = true;
  write();
  settings_.beat_seconds = 0.002;
  std::promise<std::string> lost;
  settings_.on_lost = [&lost](const std::string& words) { lost.set_value(words); };
  {
    const RunLock lock(folder_.path(), settings_);
    const std::string first = content();
    while (content() == first) std::this_thread::yield();
    EXPECT_NO_THROW(lock.require_held());
    owner_.released = false;
    write();
    EXPECT_NE(lost.get_future().get().find("process 4711 on there has taken over this folder"),
              std::string::npos);
    // Waits until the thread that noticed has finished.
    const auto is_lost = [&lock] {
      try {
        lock.require_held();
        return false;
      } catch (const CannotCreateError&) {
        return true;
      }
    };
    while (!is_lost()) std::this_thread::yield();
  }
  EXPECT_EQ(content(), owner_.text()) << "the other's word stays";
}

TEST_F(ForeignLock, IsLookedAtAfterASuspensionBeforeTheHeartbeatComes) {
  owner_.released = true;
  write();
  settings_.beat_seconds = 1000;  // the thread sleeps through this test
  const RunLock fresh(folder_.path(), settings_);
  owner_.released = false;
  write();
  EXPECT_NO_THROW(fresh.require_held()) << "its last look is not old";

  const testing::TempDir other;
  settings_.beat_seconds = 1000;
  settings_.stale_seconds = 0;
  const RunLock woken(other.path(), settings_);
  write_file_atomically(other / "run.lock", owner_.text());
  EXPECT_THROW(woken.require_held(), CannotCreateError);
  EXPECT_THROW(woken.require_held(), CannotCreateError);
}

}  // namespace
}  // namespace tandem::metrics
