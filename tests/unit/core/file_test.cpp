#include "tandem/core/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temp_dir.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"

namespace tandem {
namespace {

using testing::TempDir;

std::size_t entries_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(File, MissingFileIsMissingInput) {
  const TempDir folder;
  EXPECT_THROW(File::open_for_reading(folder / "absent"), MissingInputError);
}

TEST(File, FolderAndSpecialFileAreNotData) {
  const TempDir folder;
  EXPECT_THROW(File::open_for_reading(folder.path()), DataError);
  EXPECT_THROW(File::open_for_reading("/dev/null"), DataError);
}

// Opening a pipe that nobody writes to would wait for ever.
TEST(File, PipeIsRefusedAtOnce) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(File::open_for_reading(folder / "pipe"), DataError);
}

TEST(File, ReadsAtAnOffsetAndStopsAtTheEnd) {
  const TempDir folder;
  write_file_atomically(folder / "digits", "0123456789");
  const File file = File::open_for_reading(folder / "digits");
  EXPECT_EQ(file.size(), 10U);
  std::string buffer(8, '?');
  EXPECT_EQ(file.read_at(7, buffer.data(), buffer.size()), 3U);
  EXPECT_EQ(buffer, "789?????");
  EXPECT_EQ(file.read_at(10, buffer.data(), buffer.size()), 0U);
}

TEST(File, MovedFromFileNoLongerOwnsTheDescriptor) {
  const TempDir folder;
  write_file_atomically(folder / "a", "text");
  File first = File::open_for_reading(folder / "a");
  { const File second = std::move(first); }
  EXPECT_EQ(first.descriptor(), -1);
}

TEST(ReadFile, ReturnsAllBytesUpToTheLimit) {
  const TempDir folder;
  const std::string content("a\0b\n", 4);
  write_file_atomically(folder / "a", content);
  EXPECT_EQ(read_file(folder / "a"), content);
  EXPECT_EQ(read_file(folder / "a", 4), content);
  EXPECT_THROW(read_file(folder / "a", 3), IoError);
}

TEST(Sha256OfFile, CoversTheBytesFromTheOffset) {
  const TempDir folder;
  const std::string content = std::string(512, 'h') + std::string(3 << 20, 'x') + "end";
  write_file_atomically(folder / "a", content);
  const File file = File::open_for_reading(folder / "a");
  EXPECT_EQ(sha256_of_file(file), sha256_hex(content));
  EXPECT_EQ(sha256_of_file(file, 512), sha256_hex(content.substr(512)));
}

TEST(Sha256OfFile, TellsThatItAdvances) {
  const TempDir folder;
  write_file_atomically(folder / "a", std::string((3 << 20) + 5, 'x'));
  int touches = 0;
  sha256_of_file(File::open_for_reading(folder / "a"), 0, [&] { ++touches; });
  EXPECT_EQ(touches, 4) << "one for each MiB, or a part of one";
}

TEST(AtomicFile, AppearsOnlyOnCommit) {
  const TempDir folder;
  AtomicFile file(folder / "out");
  file.write("content");
  EXPECT_FALSE(file_exists(folder / "out"));
  EXPECT_TRUE(file_exists(file.temporary_path()));
  file.commit();
  EXPECT_EQ(read_file(folder / "out"), "content");
  EXPECT_FALSE(file_exists(file.temporary_path()));
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TempDir folder;
  write_file_atomically(folder / "out", "old");
  {
    AtomicFile file(folder / "out");
    file.write("half of the n");
  }
  EXPECT_EQ(read_file(folder / "out"), "old");
  EXPECT_EQ(entries_in(folder.path()), 1U);
}

TEST(AtomicFile, WriteAtChangesEarlierBytes) {
  const TempDir folder;
  AtomicFile file(folder / "out");
  file.write("----body");
  file.file().write_at(0, "head", 4);
  file.commit();
  EXPECT_EQ(read_file(folder / "out"), "headbody");
}

// Somebody who may write in the folder must not be able to send the bytes elsewhere.
TEST(AtomicFile, DoesNotFollowALinkAtTheTemporaryName) {
  const TempDir folder;
  std::string temporary;
  {
    const AtomicFile probe(folder / "out");
    temporary = probe.temporary_path();
  }
  ASSERT_EQ(::symlink((folder / "victim").c_str(), temporary.c_str()), 0);
  write_file_atomically(folder / "out", "text");  // under another temporary name
  EXPECT_EQ(read_file(folder / "out"), "text");
  EXPECT_FALSE(file_exists(folder / "victim"));
}

TEST(AtomicFile, FolderThatIsMissingOrInTheWayIsNamed) {
  const TempDir folder;
  EXPECT_THROW(AtomicFile(folder.path()), CannotCreateError);
  try {
    AtomicFile(folder / "absent/out");
    FAIL() << "CannotCreateError was expected";
  } catch (const CannotCreateError& error) {
    EXPECT_NE(std::string(error.what()).find(folder / "absent/out"), std::string::npos);
    EXPECT_EQ(error.code(), ExitCode::kCannotCreate);
  }
}

TEST(AtomicFile, LeavesPipesAndDevicesAlone) {
  const testing::TempDir folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(AtomicFile{pipe}, CannotCreateError);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(File, WhatIsWrittenThroughAdvancesPieceByPiece) {
  const TempDir folder;
  std::string bytes(std::size_t{40} << 20, 'a');
  for (std::size_t at = 0; at < bytes.size(); at += 4099) bytes[at] = 'b';
  AtomicFile file(folder / "long");
  int touches = 0;
  file.file().write_through(bytes.data(), bytes.size(), [&touches] { ++touches; });
  EXPECT_EQ(touches, 3) << "pieces of 16 MiB";
  file.file().write_through("end", 3);
  file.commit();
  EXPECT_TRUE(read_file(folder / "long") == bytes + "end");
}

TEST(File, FullDeviceIsAnIoError) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  File file(full, "/dev/full");
  EXPECT_THROW(file.write("x", 1), IoError);
}

}  // namespace
}  // namespace tandem
