#include "event_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"

namespace tandem::metrics {
namespace {

TEST(EventFile, FramesARecordWithMaskedChecksums) {
  EXPECT_EQ(masked_crc32c("123456789"), 0xC78AB0E5U);
  const std::string record = framed("123456789");
  EXPECT_EQ(record.size(), 8 + 4 + 9 + 4U);
  EXPECT_EQ(record.substr(0, 8), std::string("\x09\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12), "123456789\xE5\xB0\x8A\xC7");
}

TEST(EventFile, NamesSortInTheOrderInWhichTheyAreMade) {
  const testing::TempDir folder;
  const std::string future = folder / "events.out.tfevents.4000000000.host.1.0";
  write_file_atomically(future, "of a host whose clock was wrong");
  write_file_atomically(folder / "events.out.tfevents.other", "");
  std::vector<std::string> made{future};
  for (int i = 0; i < 3; ++i) made.push_back(EventFile(folder.path()).path());
  EXPECT_TRUE(std::is_sorted(made.begin(), made.end())) << made[1];
  EXPECT_EQ(std::adjacent_find(made.begin(), made.end()), made.end());
}

TEST(EventFile, LeavesNoHalfRecord) {
  const testing::TempDir folder;
  EventFile file(folder.path());
  file.append("whole");
  // A file that may not grow further answers as a full disk does: with a part, then an error.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limited = before;
  limited.rlim_cur = framed("whole").size() + 3;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  EXPECT_THROW(file.append("too long"), IoError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(file.path()), framed("whole"));
  file.append("next");
  EXPECT_EQ(read_file(file.path()), framed("whole") + framed("next"));
}

TEST(EventFile, AMissingFolderIsNamed) {
  EXPECT_THROW(EventFile("/nonexistent/tensorboard"), CannotCreateError);
}

}  // namespace
}  // namespace tandem::metrics
