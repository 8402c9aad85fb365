#include "child_process.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "data_fixtures.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using namespace std::chrono_literals;

TEST(ChildProcess, SuccessIsSilent) {
  EXPECT_NO_THROW(run_in_child("file", 30s, [] {}));
}

TEST(ChildProcess, ErrorsComeBackWithTheirCodeAndText) {
  expect_error(ExitCode::kIo, {"file: disk on fire"},
               [] { run_in_child("file", 30s, [] { throw IoError("file: disk on fire"); }); });
  expect_error(ExitCode::kBadData, {"file: cannot be parsed: odd"},
               [] { run_in_child("file", 30s, [] { throw std::runtime_error("odd"); }); });
}

TEST(ChildProcess, CrashIsBadData) {
  expect_error(ExitCode::kBadData, {"file", "by signal 6"},
               [] { run_in_child("file", 30s, [] { std::abort(); }); });
  expect_error(ExitCode::kBadData, {"file", "ended its process"},
               [] { run_in_child("file", 30s, [] { std::_Exit(3); }); });
}

TEST(ChildProcess, WorkThatNeverEndsIsKilled) {
  expect_error(ExitCode::kBadData, {"file", "more than 0.05 s"}, [] {
    run_in_child("file", 50ms, [] {
      for (volatile int i = 0;; i = i + 1) {
      }
    });
  });
}

#ifndef TANDEM_SANITIZED  // sanitizers have an allocator of their own
TEST(ChildProcess, MemoryIsLimited) {
  expect_error(ExitCode::kBadData, {"file: cannot be parsed"}, [] {
    run_in_child("file", 30s, [] { std::vector<char> flood(std::size_t{3} << 30); });
  });
}
#endif

}  // namespace
}  // namespace tandem::data
