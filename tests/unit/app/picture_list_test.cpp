#include "app/picture_list.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

std::vector<std::string> all_of(PictureList list) {
  std::vector<std::string> paths;
  while (auto path = list.next()) paths.push_back(*path);
  return paths;
}

TEST(PictureList, TakesFilesFoldersAndAListOfLines) {
  const testing::TempDir folder;
  std::filesystem::create_directory(folder / "in");
  for (const char* name : {"in/b.JPG", "in/a.png", "notes.txt"}) std::ofstream(folder / name);
  std::istringstream lines("one.png\r\n\ntwo words.jpg\nlast");
  EXPECT_EQ(all_of(PictureList({"absent", folder.path(), "-", folder / "notes.txt"}, lines)),
            (std::vector<std::string>{"absent", folder / "in/a.png", folder / "in/b.JPG", "one.png",
                                      "two words.jpg", "last", folder / "notes.txt"}));
}

TEST(PictureList, AFolderWithoutPicturesIsAFault) {
  const testing::TempDir folder;
  std::istringstream none;
  EXPECT_THROW(PictureList({"a.png", folder.path()}, none), DataError);
}

}  // namespace
}  // namespace tandem::app
