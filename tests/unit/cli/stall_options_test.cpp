#include "cli/stall_options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tandem::app {
namespace {

class EarlyStallLimits : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("TANDEM_STALL_ABORT"); }
};

TEST_F(EarlyStallLimits, AreTrainsDefaultsWhereNothingIsSaid) {
  const comm::StallLimits limits = early_stall_limits({"--data", "x.h5"});
  EXPECT_EQ(limits.warn_seconds, 60);
  EXPECT_EQ(limits.abort_seconds, 600);
}

TEST_F(EarlyStallLimits, ComeFromTheCommandLineInBothForms) {
  const comm::StallLimits limits =
      early_stall_limits({"tta", "--", "--stall-warn", "2.5", "--stall-abort=0"});
  EXPECT_EQ(limits.warn_seconds, 2.5);
  EXPECT_EQ(limits.abort_seconds, 0);
}

TEST_F(EarlyStallLimits, ComeFromTheEnvironmentWhereTheCommandLineSaysNothing) {
  ::setenv("TANDEM_STALL_ABORT", "7", 1);
  EXPECT_EQ(early_stall_limits({}).abort_seconds, 7);
  EXPECT_EQ(early_stall_limits({"--stall-abort", "8"}).abort_seconds, 8);
}

// The command itself refuses a bad value, once all ranks have read it.
TEST_F(EarlyStallLimits, AreTheDefaultsWhereAValueIsNone) {
  for (const char* wrong : {"", "x", "3s", "-1", "1e10"}) {
    EXPECT_EQ(early_stall_limits({"--stall-abort", wrong}).abort_seconds, 600) << wrong;
  }
  EXPECT_EQ(early_stall_limits({"--stall-abort"}).abort_seconds, 600);
}

}  // namespace
}  // namespace tandem::app
