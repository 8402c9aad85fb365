#include "picture_list.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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

}  // namespace
}  // namespace tandem::app
