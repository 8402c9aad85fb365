#include "data/packed/child_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "data_fixtures.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using namespace std::chrono_literals;

void spin() {
  for (volatile unsigned i = 0;; i = i + 1) {
  }
}

class ChildProcess : public ::testing::Test {
 protected:
  std::string run(const std::function<std::string()>& work) {
    return run_in_child(file_, limits_, work);
  }
  void expect(ExitCode code, const std::vector<std::string>& parts,
              const std::function<std::string()>& work) {
    expect_error(code, parts, [&] { run(work); });
  }

  File file_{::open("/dev/null", O_RDONLY | O_CLOEXEC), "file"};
  ChildLimits limits_;
};

TEST_F(ChildProcess, ReturnsWhatTheWorkReturns) {
  EXPECT_EQ(run([] { return std::string(); }), "");
  const std::string longer(300'000, 'x');  // more than a pipe holds
  EXPECT_EQ(run([&] { return longer; }), longer);
}

TEST_F(ChildProcess, TellsThatItsWorkGoesOn) {
  int touches = 0;
  const auto work = [] {
    std::this_thread::sleep_for(1500ms);
    return std::string();
  };
  run_in_child(file_, limits_, work, [&] { ++touches; });
  EXPECT_GE(touches, 2);
}

TEST_F(ChildProcess, ErrorsComeBackWithTheirCodeAndText) {
  expect(ExitCode::kIo, {"file: disk on fire"},
         []() -> std::string { throw IoError("file: disk on fire"); });
  expect(ExitCode::kBadData, {"file: cannot be parsed: odd"},
         []() -> std::string { throw std::runtime_error("odd"); });
  EXPECT_THROW(run([]() -> std::string { throw DataError("file: bad"); }), DataError);
}

TEST_F(ChildProcess, CrashIsBadData) {
  expect(ExitCode::kBadData, {"file", "by signal 6"}, []() -> std::string { std::abort(); });
  expect(ExitCode::kBadData, {"file", "ended its process"}, []() -> std::string { std::_Exit(3); });
  expect(ExitCode::kBadData, {"file", "ended its process"},
         []() -> std::string { std::_Exit(0); });  // without a reply
}

TEST_F(ChildProcess, KillIsNotTheFilesFault) {
  expect(static_cast<ExitCode>(128 + SIGKILL), {"file", "was killed", "start again"},
         []() -> std::string {
           std::raise(SIGKILL);
           return "";
         });
}

TEST_F(ChildProcess, WorkThatNeverEndsIsKilled) {
  limits_.time = 50ms;
  expect(ExitCode::kBadData, {"file", "more than 0.05 s"}, []() -> std::string {
    spin();
    return "";
  });
}

TEST_F(ChildProcess, ProcessorTimeIsLimited) {
  limits_.processor_seconds = 1;
  expect(ExitCode::kBadData, {"file", "by signal 24"}, []() -> std::string {
    spin();
    return "";
  });
}

TEST_F(ChildProcess, AnswerIsLimited) {
  limits_.reply_bytes = 100'000;
  EXPECT_EQ(run([] { return std::string(100'000, 'x'); }).size(), 100'000U);
  expect(ExitCode::kBadData, {"file", "more than a file of its size can hold"},
         [] { return std::string(100'001, 'x'); });
}

#ifdef SYS_close_range
TEST_F(ChildProcess, HasNoDescriptorButThoseItNeeds) {
  const std::vector<int> others{::dup(2), ::dup(2), ::fcntl(2, F_DUPFD, 90)};
  const std::string open = run([&] {
    std::string found;
    for (int i = 3; i < 100; ++i) {
      if (i != file_.descriptor() && ::fcntl(i, F_GETFD) >= 0) found += std::to_string(i) + " ";
    }
    return found;
  });
  for (const int other : others) ::close(other);
  EXPECT_EQ(open.find(' '), open.size() - 1) << open;  // only its end of the pipe
}
#endif

// A rank may have mapped a data set of any size, or libraries of gigabytes.
TEST_F(ChildProcess, MayTakeMemoryBesideWhatIsMappedAlready) {
  constexpr std::size_t kBytes = std::size_t{8} << 30;
  void* const mapped =
      ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(run([] { return std::string(std::vector<char>(50'000'000, 'x').data(), 1); }), "x");
  ::munmap(mapped, kBytes);
}

#ifndef TANDEM_SANITIZED  // sanitizers have an allocator of their own
TEST_F(ChildProcess, MemoryIsLimited) {
  expect(ExitCode::kBadData, {"file: cannot be parsed"}, [] {
    std::vector<char> flood(std::size_t{3} << 30);
    return std::string(flood.data(), 1);
  });
}
#endif

}  // namespace
}  // namespace tandem::data
