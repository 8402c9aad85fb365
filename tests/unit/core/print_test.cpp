// Lines of a command's result throw if standard output fails; lines of progress do not.
#include "tandem/core/print.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/stop_signal.hpp"
#include "write_all.hpp"

namespace tandem {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// Redirects standard output to a descriptor while it lives.
class InPlaceOfOutput {
 public:
  explicit InPlaceOfOutput(int descriptor) : before_(::dup(STDOUT_FILENO)) {
    ::dup2(descriptor, STDOUT_FILENO);
  }
  ~InPlaceOfOutput() {
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
  }

 private:
  const int before_;
};

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void make_nonblocking() const { ::fcntl(ends[1], F_SETFL, O_NONBLOCK); }
  // Until nothing more fits.
  std::size_t fill() const {
    make_nonblocking();
    std::size_t bytes = 0;
    const std::string page(4096, 'x');
    while (::write(ends[1], page.data(), page.size()) > 0) bytes += page.size();
    return bytes;
  }
  int ends[2] = {-1, -1};
};

TEST(Print, AProductThatCannotBeWrittenIsAnError) {
  const int full = ::open("/dev/full", O_WRONLY);
  const InPlaceOfOutput output(full);
  try {
    print_line("result");
    FAIL() << "nothing was thrown";
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(), "standard output: No space left on device");
  }
  ::close(full);
}

// A single test, because a process warns only once.
TEST(Print, ANoticeThatCannotBeWrittenIsOneWarning) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  CaptureStderr();
  {
    Pipe pipe;
    const InPlaceOfOutput output(pipe.ends[1]);
    ::close(std::exchange(pipe.ends[0], -1));
    show_line("step 1");
    show_line("step 2");
  }
  std::signal(SIGPIPE, before);
  EXPECT_EQ(
      GetCapturedStderr(),
      "tandem: warning: standard output: Broken pipe; the work continues, and lines are missing "
      "there\n");
}

TEST(Print, ANoticeIsALine) {
  const Pipe pipe;
  {
    const InPlaceOfOutput output(pipe.ends[1]);
    show_line("a\x1b b");
  }
  char text[64] = {};
  EXPECT_EQ(::read(pipe.ends[0], text, sizeof text - 1), 8);
  EXPECT_STREQ(text, "a\\x1b b\n");
}

TEST(WriteAll, WaitsForAReaderOfADescriptorThatDoesNot) {
  const Pipe pipe;
  const std::size_t waiting = pipe.fill();
  const std::string text(100'000, 'y');
  std::string read(waiting + text.size(), '\0');
  std::thread reader([&] {
    for (std::size_t at = 0; at < read.size();) {
      const ssize_t got = ::read(pipe.ends[0], &read[at], read.size() - at);
      if (got <= 0) return;
      at += static_cast<std::size_t>(got);
    }
  });
  EXPECT_EQ(write_all(pipe.ends[1], text), 0);
  reader.join();
  EXPECT_EQ(read.substr(waiting), text);
}

TEST(WriteAll, WaitsNoLongerThanItIsTold) {
  const Pipe pipe;
  pipe.fill();
  EXPECT_EQ(write_all(pipe.ends[1], "text", 1), ETIMEDOUT);
  ::fcntl(pipe.ends[1], F_SETFL, 0);  // blocking again
  EXPECT_EQ(write_all(pipe.ends[1], "text", 0), ETIMEDOUT);
}

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
    const StopSignal stop(StopNotice{STDERR_FILENO, 0, 0});
    std::raise(SIGINT);
  };
  const std::string words =
      "tandem: stopping after this step; press again after 2 s to end it at once\n";
  EXPECT_EQ(Written(true, true, interrupt).error, "\r\x1b[K" + words);
  EXPECT_EQ(Written(false, false, interrupt).error, "\n" + words);
}

}  // namespace
}  // namespace tandem
