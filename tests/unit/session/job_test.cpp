#include "session/job.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <system_error>

#include "support/failing_calls.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

// libtorch would wait for ever, or end the process in the first step.
TEST(UseThreads, FailsHereWhereTheSystemGrantsNoMore) {
  const testing::FailingCalls refused("pthread_create", "", EAGAIN);
  try {
    rank_threads(4, 1);
    FAIL() << "4 threads were granted";
  } catch (const std::system_error& error) {
    EXPECT_EQ(code_of(error), ExitCode::kUnavailable);
  }
}

}  // namespace
}  // namespace tandem::app
