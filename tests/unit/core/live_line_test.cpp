#include <gtest/gtest.h>

#include "tandem/core/print.hpp"
#include "tandem/core/stop_signal.hpp"

namespace tandem {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

// What both streams got from `act`, while these end on a shared terminal.
struct Written {
  template <typename Act>
  Written(bool output_is_shared, bool error_is_shared, const Act& act) {
    share_terminal(output_is_shared, error_is_shared);
    CaptureStdout();
    CaptureStderr();
    act();
    output = GetCapturedStdout();
    error = GetCapturedStderr();
    share_terminal(false, false);
  }
  std::string output;
  std::string error;
};

void print_all() {
  print_line("line");
  print_warning("w");
  print_error("e");
  print_bytes("b\n");
}

TEST(LiveLine, IsNoConcernWhereNoTerminalIsShared) {
  const Written written(false, false, print_all);
  EXPECT_EQ(written.output, "line\nb\n");
  EXPECT_EQ(written.error, "tandem: warning: w\ntandem: error: e\n");
}

TEST(LiveLine, GoesBeforeAnythingElseIsPrinted) {
  const Written written(true, true, print_all);
  EXPECT_EQ(written.output, "\r\x1b[Kline\nb\n");
  EXPECT_EQ(written.error, "\r\x1b[Ktandem: warning: w\n\r\x1b[Ktandem: error: e\n");
}

TEST(LiveLine, LeavesAStreamAloneThatEndsElsewhere) {
  const Written written(false, true, [] {
    draw_live_line("live");
    print_line("line");
    clear_live_line();
  });
  EXPECT_EQ(written.output, "line\n");
  EXPECT_EQ(written.error, "\rlive\x1b[K\r\x1b[K");
}

TEST(LiveLine, KeepsItsOrderWithLinesOnStandardOutput) {
  const Written written(true, true, [] {
    draw_live_line("one");
    print_line("line");
    draw_live_line("two");
  });
  EXPECT_EQ(written.output, "\rone\x1b[K\r\x1b[Kline\n\rtwo\x1b[K");
  EXPECT_EQ(written.error, "");
}

TEST(LiveLine, GoesBeforeASignalIsAnnounced) {
  const auto interrupt = [] {
    const StopSignal stop(true);
    std::raise(SIGINT);
  };
  const std::string words =
      "tandem: stopping after this step; press again after 2 s to end at once\n";
  EXPECT_EQ(Written(true, true, interrupt).error, "\r\x1b[K" + words);
  EXPECT_EQ(Written(false, false, interrupt).error, "\n" + words);
}

}  // namespace
}  // namespace tandem
