#include "engine/predict/picture_list.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

NextLine lines_of(const std::string& text) {
  return [stream = std::make_shared<std::istringstream>(text)]() -> std::optional<std::string> {
    std::string line;
    if (!std::getline(*stream, line)) return std::nullopt;
    return line;
  };
}

std::vector<std::string> all_of(PictureList list) {
  std::vector<std::string> paths;
  while (auto path = list.next()) paths.push_back(*path);
  return paths;
}

TEST(PictureList, TakesFilesFoldersAndAListOfLines) {
  const testing::TempDir folder;
  std::filesystem::create_directory(folder / "in");
  for (const char* name : {"in/b.JPG", "in/a.png", "notes.txt"}) std::ofstream(folder / name);
  const NextLine lines = lines_of("one.png\r\n\ntwo words.jpg\nlast");
  EXPECT_EQ(all_of(PictureList({"absent", folder.path(), "-", folder / "notes.txt"}, lines)),
            (std::vector<std::string>{"absent", folder / "in/a.png", folder / "in/b.JPG", "one.png",
                                      "two words.jpg", "last", folder / "notes.txt"}));
}

TEST(PictureList, AFolderWithoutPicturesIsAFault) {
  const testing::TempDir folder;
  EXPECT_THROW(PictureList({"a.png", folder.path()}, lines_of("")), DataError);
}

TEST(PictureList, AListWithoutAFileIsAFault) {
  for (const char* text : {"", "\n\r\n"}) {
    PictureList list({"a.png", "-", "b.png"}, lines_of(text));
    EXPECT_EQ(list.next(), "a.png");
    EXPECT_THROW(list.next(), DataError);
  }
}

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
