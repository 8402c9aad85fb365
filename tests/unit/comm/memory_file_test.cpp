#include "memory_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

namespace tandem::comm {
namespace {

std::string name_in_dev_shm(const MemoryFile::SharedFileId& there) {
  return "/dev/shm/tandem." + std::to_string(static_cast<std::uint64_t>(there.word));
}

class MemoryFileTest : public ::testing::TestWithParam<bool> {
 protected:
  static MemoryFile make() {
    return GetParam() ? MemoryFile::make_in_dev_shm() : MemoryFile::make_unnamed();
  }
};

TEST_P(MemoryFileTest, IsOneMemoryForAllWhoOpenIt) {
  MemoryFile file = make();
  ASSERT_TRUE(file);
  MemoryFile other = MemoryFile::open(file.id());
  ASSERT_TRUE(other);
  file.withdraw();
  ASSERT_TRUE(file.reserve(0, 5000));
  auto* const here = static_cast<char*>(file.map(5000));
  auto* const there = static_cast<char*>(other.map(5000));
  ASSERT_NE(here, nullptr);
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(there[0], 0) << "the word is gone";
  file = MemoryFile();
  std::strcpy(here + 4990, "hello");
  EXPECT_STREQ(there + 4990, "hello") << "a mapping outlives its file";
}

TEST_P(MemoryFileTest, AnotherFileIsNotTaken) {
  const MemoryFile file = make();
  MemoryFile::SharedFileId wrong = file.id();
  ++wrong.inode;
  EXPECT_FALSE(MemoryFile::open(wrong));
  wrong = file.id();
  ++wrong.device;
  EXPECT_FALSE(MemoryFile::open(wrong));
  wrong = file.id();
  ++wrong.word;
  EXPECT_FALSE(MemoryFile::open(wrong)) << "as of a machine copied with all its numbers";
}

TEST_P(MemoryFileTest, AWithdrawnFileIsNotOpened) {
  MemoryFile file = make();
  const MemoryFile::SharedFileId there = file.id();
  file.withdraw();
  EXPECT_FALSE(MemoryFile::open(there));
}

INSTANTIATE_TEST_SUITE_P(WithAName, MemoryFileTest, ::testing::Bool());

TEST(MemoryFile, LeavesNothingInDevShm) {
  MemoryFile::SharedFileId there;
  {
    const MemoryFile file = MemoryFile::make_in_dev_shm();
    there = file.id();
    EXPECT_TRUE(std::filesystem::exists(name_in_dev_shm(there)));
  }
  EXPECT_FALSE(std::filesystem::exists(name_in_dev_shm(there))) << "an error was thrown";
  MemoryFile file = MemoryFile::make_in_dev_shm();
  file.withdraw();
  EXPECT_FALSE(std::filesystem::exists(name_in_dev_shm(file.id())));
}

TEST(MemoryFile, MoreThanThereIsCannotBeReserved) {
  MemoryFile file = MemoryFile::make_in_dev_shm();
  EXPECT_FALSE(file.reserve(0, std::filesystem::space("/dev/shm").capacity + 1));
}

TEST(MemoryFile, NoneIsNowhere) {
  EXPECT_FALSE(MemoryFile::open({}));
  EXPECT_EQ(MemoryFile().map(1), nullptr);
}

}  // namespace
}  // namespace tandem::comm
