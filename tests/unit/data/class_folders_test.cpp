#include "data/picture_sources/class_folders.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::TempDir;

// Only names matter; every file is empty.
class ClassFoldersTest : public ::testing::Test {
 protected:
  void write(const std::vector<std::string>& names) {
    for (const std::string& name : names) testing::write_bytes(root_ + "/" + name, "");
  }
  void make(const std::string& folder) {
    std::filesystem::create_directories(root_ + "/" + folder);
  }
  ClassFolders find(bool splits_off_test = false) {
    return find_class_folders(root_, splits_off_test, [] {});
  }
  // Beside two whole splits.
  void expect_refused(const std::vector<std::string>& extra,
                      const std::vector<std::string>& parts) {
    write({"train/cat/1.png", "train/dog/1.png", "test/cat/1.png"});
    write(extra);
    expect_error(ExitCode::kBadData, parts, [&] { find(); });
    std::filesystem::remove_all(root_);
  }
  // "path: reason" of each, without the root.
  static std::string broken(const ClassFolders& found, const std::string& root) {
    std::string text;
    for (const BrokenFile& file : found.broken) {
      text += file.path.substr(root.size() + 1) + ": " + file.reason + "\n";
    }
    return text;
  }

  TempDir folder_;
  std::string root_ = folder_ / "pets";
};

TEST_F(ClassFoldersTest, SkipsEarlierOutputsAmongThePictures) {
  write({"cat/1.png", "dog/1.png"});
  for (const std::string folder : {"/", "/cat/"}) {
    testing::write_bytes(root_ + folder + "set.h5", std::string("tandem-dataset\r\n") + "rest");
    testing::write_bytes(root_ + folder + "set.h5.broken.txt", "# tandem pack: files\n");
  }
  const ClassFolders found = find(true);
  EXPECT_EQ(found.train.size(), 2U);
  EXPECT_EQ(broken(found, root_), "");
  testing::write_bytes(root_ + "/other.h5", "tandem-");
  EXPECT_EQ(find(true).broken.size(), 1U);
}

TEST_F(ClassFoldersTest, PicturesMayLieDeeper) {
  write({"train/cat/x/1.png", "train/dog/y/z/1.jpg", "test/cat/x/1.png"});
  EXPECT_TRUE(holds_class_folders(root_));
  const ClassFolders found = find();
  EXPECT_EQ(found.classes, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(found.train.size(), 2U);
  EXPECT_EQ(found.train[1].path, root_ + "/train/dog/y/z/1.jpg");
  EXPECT_EQ(found.train[1].label, 1);
  EXPECT_EQ(found.test.size(), 1U);
}

TEST_F(ClassFoldersTest, WhatIsMissingIsToldAsItIs) {
  write({"train/cat/1.png"});
  const auto says = [&](const std::string& part) {
    return find().usage_fault.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says("--test-split is missing"));
  EXPECT_TRUE(says("no folder test beside train"));
  EXPECT_EQ(find(true).usage_fault, "");
  write({"test/cat/1.png"});
  EXPECT_EQ(find().usage_fault, "");
  expect_error(ExitCode::kUsage, {"--test-split", "has a test set already"}, [&] { find(true); });
  root_ = folder_ / "flat";
  write({"train/1.png", "test/1.png"});
  EXPECT_TRUE(says("no folder train of classes; its folders are the classes test, train"));
}

TEST_F(ClassFoldersTest, FoldersBesideTrainAreRefused) {
  expect_refused({"val/cat/1.png"},
                 {"pets/val: lies beside train and ", "only one of test and val"});
  expect_refused({"extra/cat/1.png"}, {"pets/extra: lies beside train"});
  expect_refused({"valid/cat/1.png"}, {"pets/valid: lies beside train"});
  write({"train/cat/1.png", "train/dog/1.png", "valid/cat/1.png"});
  expect_error(ExitCode::kBadData, {"valid: lies beside train,", "; rename it to val, or move it"},
               [&] { find(); });
}

TEST_F(ClassFoldersTest, AllFilesThatAreNoPicturesAreNamedAtOnce) {
  write({"train/cat/1.png", "train/dog/1.png", "test/cat/1.png", "1.png", "notes.txt",
         "train/labels.csv", "test/1.png", "train/cat/clip.mov"});
  testing::write_bytes(root_ + "/train/dog/2.webp", std::string("RIFF\0\0\0\0WEBPVP8 ", 16));
  make("train/bird");
  make("test/dog");
  const ClassFolders found = find();
  EXPECT_EQ(broken(found, root_),
            "1.png: lies in no folder of a class; move it into one\n"
            "train/labels.csv: lies in no folder of a class; move it into one, or out of " +
                root_ +
                "/train\n"
                "train/bird: is the folder of a class and holds no picture; put some into it, or "
                "remove it\n"
                "train/cat/clip.mov: its name does not end in .png, .jpg or .jpeg; convert the "
                "file, or move it out of the folder\n"
                "train/dog/2.webp: is a WebP picture, a PNG or JPEG file was expected; convert it: "
                "magick '" +
                root_ + "/train/dog/2.webp[0]' " + root_ +
                "/train/dog/2.webp.png\n"
                "test/1.png: lies in no folder of a class; move it into one, or out of " +
                root_ +
                "/test\n"
                "test/dog: is the folder of a class and holds no picture; put some into it, or "
                "remove it\n");
  EXPECT_EQ(found.train.size(), 2U);
  EXPECT_EQ(found.classes, (std::vector<std::string>{"bird", "cat", "dog"}));
  expect_refused({"test/fox/1.png"}, {"test/fox", "bird, cat, dog"});
}

TEST_F(ClassFoldersTest, NotesOnAPictureAreNoPicture) {
  write({"cat/1.png"});
  testing::write_bytes(root_ + "/cat/notes.md", "my picture, of a cat");
  EXPECT_EQ(broken(find(true), root_),
            "cat/notes.md: its name does not end in .png, .jpg or .jpeg; convert the file, or move "
            "it out of the folder\n");
}

TEST_F(ClassFoldersTest, WhatFileManagersLeaveIsPassedOver) {
  write({"cat/1.png", "cat/Thumbs.db", "cat/.DS_Store", ".git/x.png", "desktop.ini"});
  EXPECT_EQ(find(true).classes, std::vector<std::string>{"cat"});
  EXPECT_EQ(find(true).train.size(), 1U);
}

TEST_F(ClassFoldersTest, FoldersThatCannotBeReadHoldNoPictures) {
  write({"cat/1.png"});
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(root_ + "/cat", std::filesystem::perms::none);
  const bool is_root = geteuid() == 0;  // who may read everything
  constexpr uid_t kNobody = 65534;
  if (is_root) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  EXPECT_FALSE(holds_class_folders(root_));
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  std::filesystem::permissions(root_ + "/cat", std::filesystem::perms::owner_all);
  EXPECT_TRUE(holds_class_folders(root_));
}

}  // namespace
}  // namespace tandem::data
