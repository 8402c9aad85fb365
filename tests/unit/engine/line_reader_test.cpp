#include "line_reader.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <future>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

TEST(LineReader, GivesLinesUntilTheEnd) {
  const testing::TempDir folder;
  const std::string long_line(100'000, 'x');
  std::ofstream(folder / "list") << "one\n\n" << long_line << "\nlast";
  const int file = ::open((folder / "list").c_str(), O_RDONLY | O_CLOEXEC);
  LineReader lines(file, "list");
  for (const std::string& expected :
       {std::string("one"), std::string(), long_line, std::string("last")}) {
    EXPECT_EQ(lines.next(), expected);
  }
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_EQ(lines.next(), std::nullopt);
  ::close(file);
}

TEST(LineReader, AFaultIsNotTheEnd) {
  const testing::TempDir folder;
  const int file = ::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC);
  LineReader lines(file, "list");
  EXPECT_THROW(lines.next(), IoError);
  ::close(file);
}

// Nobody writes to the pipe, and nobody closes it.
TEST(LineReader, MayBeStoppedWhileItWaits) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  LineReader lines(pipe[0], "list");
  auto line = std::async(std::launch::async, [&] { return lines.next(); });
  lines.stop();
  EXPECT_EQ(line.get(), std::nullopt);
  for (const int end : pipe) ::close(end);
}

}  // namespace
}  // namespace tandem::app
