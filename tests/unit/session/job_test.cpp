#include "session/job.hpp"

#include <gtest/gtest.h>

#include <system_error>

#include "support/no_more_threads.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

#ifndef TANDEM_SANITIZED  // see NoMoreThreads
// libtorch would wait for ever, or end the process in the first step.
TEST(UseThreads, FailsHereWhereTheSystemGrantsNoMore) {
  const NoMoreThreads refused;
  ASSERT_TRUE(refused.are_refused);
  try {
    rank_threads(4, 1);
    FAIL() << "4 threads were granted";
  } catch (const std::system_error& error) {
    EXPECT_EQ(code_of(error), ExitCode::kUnavailable);
  }
}
#endif

}  // namespace
}  // namespace tandem::app
