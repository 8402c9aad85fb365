#include "tandem/core/durable.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem {
namespace {

using testing::FailingCalls;
using testing::NotedCalls;
using testing::TempDir;
namespace fs = std::filesystem;

TEST(SyncFolder, PassesOverFileSystemsWithoutTheCallAndNoOtherFault) {
  const TempDir folder;
  EXPECT_NO_THROW(sync_folder(folder.path()));
  for (const int error : {EINVAL, ENOTSUP}) {
    const FailingCalls calls("fsync", folder.path(), error);
    EXPECT_NO_THROW(sync_folder(folder.path()));
    EXPECT_EQ(calls.count(), 1);
  }
  const FailingCalls calls("fsync", folder.path(), EIO);
  EXPECT_THROW(sync_folder(folder.path()), IoError);
  EXPECT_THROW(sync_folder(folder / "absent"), IoError);
}

TEST(MakeFoldersDurably, SyncsEachFolderThatGotAName) {
  const TempDir folder;
  const NotedCalls calls;
  make_folders_durably(folder / "a/b");
  EXPECT_TRUE(is_folder(folder / "a/b"));
  EXPECT_LT(calls.first("mkdir", "/a"), calls.first("fsync", folder.path()));
  EXPECT_LT(calls.first("mkdir", "/a/b"), calls.last("fsync", "/a"));
  EXPECT_NO_THROW(make_folders_durably(folder / "a/b"));
  write_file_atomically(folder / "file", "x");
  EXPECT_THROW(make_folders_durably(folder / "file"), CannotCreateError);
  EXPECT_THROW(make_folders_durably(folder / "file/below"), CannotCreateError);
}

TEST(GiveSecondName, IsALinkThatReplacesAndCanBeRepeated) {
  const TempDir folder;
  write_file_atomically(folder / "one", "new");
  write_file_atomically(folder / "two", "old");
  for (int again = 0; again < 2; ++again) {
    const NotedCalls calls;
    give_second_name(folder / "one", folder / "two");
    EXPECT_EQ(read_file(folder / "two"), "new");
    EXPECT_TRUE(fs::equivalent(folder / "one", folder / "two"));
    EXPECT_GT(calls.last("fsync", folder.path()), calls.first("rename", "/two"));
    EXPECT_EQ(list_folder(folder.path()).size(), 2U) << "a temporary name was left";
  }
}

TEST(GiveSecondName, IsACopyWhereThereAreNoHardLinks) {
  for (const int error : {EPERM, ENOTSUP, EMLINK, ENOSYS, EXDEV}) {
    const TempDir folder;
    write_file_atomically(folder / "one", std::string(3U << 20U, 'x') + "end");
    const FailingCalls calls("link", "two", error);
    give_second_name(folder / "one", folder / "two");
    EXPECT_EQ(read_file(folder / "two"), read_file(folder / "one"));
    EXPECT_FALSE(fs::equivalent(folder / "one", folder / "two"));
    EXPECT_EQ(calls.count(), 1);
  }
}

TEST(GiveSecondName, AFaultLeavesWhatWasThere) {
  const TempDir folder;
  write_file_atomically(folder / "one", "new");
  write_file_atomically(folder / "two", "old");
  for (const char* call : {"link", "rename"}) {
    const FailingCalls calls(call, "two", EIO);
    EXPECT_THROW(give_second_name(folder / "one", folder / "two"), IoError) << call;
    EXPECT_EQ(read_file(folder / "two"), "old");
    EXPECT_EQ(list_folder(folder.path()).size(), 2U) << "a temporary name was left";
  }
}

TEST(GiveSecondName, WhatIsInTheWayOfTheTemporaryNameIsNamed) {
  const TempDir folder;
  write_file_atomically(folder / "one", "new");
  const FailingCalls calls("unlink", "two", EACCES);
  EXPECT_THROW(give_second_name(folder / "one", folder / "two"), IoError);
  EXPECT_FALSE(file_exists(folder / "two"));
}

TEST(MoveDurably, SyncsTheNewNameBeforeTheOldOneIsGone) {
  const TempDir folder;
  fs::create_directory(folder / "there");
  write_file_atomically(folder / "one", "text");
  const NotedCalls calls;
  move_durably(folder / "one", folder / "there/one");
  EXPECT_EQ(read_file(folder / "there/one"), "text");
  EXPECT_FALSE(file_exists(folder / "one"));
  const int there = calls.first("fsync", "/there");
  EXPECT_GT(there, calls.first("rename", "there/one"));
  EXPECT_GT(calls.last("fsync", folder.path()), there);
}

TEST(MoveDurably, CopiesToAnotherFileSystem) {
  const TempDir folder;
  fs::create_directory(folder / "there");
  write_file_atomically(folder / "one", "text");
  {
    const FailingCalls calls("rename", "there/one", EXDEV, 1);
    move_durably(folder / "one", folder / "there/one");
  }
  EXPECT_EQ(read_file(folder / "there/one"), "text");
  EXPECT_FALSE(file_exists(folder / "one"));
  const FailingCalls calls("rename", "one", EACCES);
  EXPECT_THROW(move_durably(folder / "there/one", folder / "one"), IoError);
  EXPECT_TRUE(file_exists(folder / "there/one"));
}

TEST(HaveEqualBytes, ComparesContent) {
  const TempDir folder;
  write_file_atomically(folder / "one", "text");
  write_file_atomically(folder / "same", "text");
  write_file_atomically(folder / "other", "texT");
  write_file_atomically(folder / "longer", "text ");
  fs::create_hard_link(folder / "one", folder / "link");
  EXPECT_TRUE(have_equal_bytes(folder / "one", folder / "same"));
  EXPECT_TRUE(have_equal_bytes(folder / "one", folder / "link"));
  EXPECT_FALSE(have_equal_bytes(folder / "one", folder / "other"));
  EXPECT_FALSE(have_equal_bytes(folder / "one", folder / "longer"));
  EXPECT_FALSE(have_equal_bytes(folder / "one", folder / "absent"));
  EXPECT_FALSE(have_equal_bytes(folder / "absent", folder / "one"));
  EXPECT_THROW(have_equal_bytes(folder / "one", folder / "one/below"), IoError);
}

TEST(File, SyncAndCloseReportWhatWasRefused) {
  const TempDir folder;
  write_file_atomically(folder / "one", "text");
  File file = File::open_for_reading(folder / "one");
  EXPECT_NO_THROW(file.sync());
  {
    const FailingCalls calls("fdatasync", "one", EDQUOT);
    EXPECT_THROW(file.sync(), IoError);
  }
  const FailingCalls calls("close", "one", ENOSPC);
  EXPECT_THROW(file.close(), IoError);
}

}  // namespace
}  // namespace tandem
