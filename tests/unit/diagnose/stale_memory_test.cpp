#include "diagnose/stale_memory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <regex>

#include "support/temp_dir.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// As a shell reads the command.
std::string in_one_line(const std::string& command) {
  return std::regex_replace(command, std::regex(" \\\\\n +"), " ");
}

class StaleMemoryTest : public ::testing::Test {
 protected:
  StaleMemoryTest() { std::filesystem::create_directories(folder_ / "proc/17"); }
  std::string segment(const std::string& name) {
    const std::string path = folder_ / name;
    write_file_atomically(path, std::string(5000, 'x'));
    return path;
  }
  void map_in_process(const std::string& path) {
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    write_file_atomically(folder_ / "proc/17/maps",
                          "7f00-7f01 r-xp 0 fe:00 0 [vdso]\n7f01-7f02 rw-s 0 fe:00 " +
                              std::to_string(status.st_ino) + " " + path + "\n");
  }
  StaleMemory find() const { return find_stale_memory(folder_.path(), folder_ / "proc"); }

  const testing::TempDir folder_;
};

TEST_F(StaleMemoryTest, NamesTheFilesOfAJobThatIsGone) {
  const std::string first = segment("vader_segment.n1.0.aa.0");
  segment("vader_segment.n1.0.aa.1");
  const std::string ours = segment("tandem.99");
  segment("of_somebody_else");
  const StaleMemory stale = find();
  EXPECT_EQ(stale.files, 3);
  EXPECT_GE(stale.bytes, 15'000U);
  EXPECT_EQ(in_one_line(stale.command),
            "rm " + ours + " " + first.substr(0, first.size() - 1) + "*");
}

TEST_F(StaleMemoryTest, LeavesThoseOfARunningJobAlone) {
  map_in_process(segment("vader_segment.n1.0.aa.0"));
  EXPECT_EQ(find().files, 0);
  EXPECT_EQ(find().command, "");
  segment("vader_segment.n1.0.bb.0");
  EXPECT_EQ(find().files, 1);
}

TEST_F(StaleMemoryTest, OfManyJobsNamesSomeAndNoneThatRuns) {
  for (int job = 0; job < 40; ++job) segment("vader_segment.n1.0." + std::to_string(job) + ".0");
  map_in_process(segment("vader_segment.n1.0.0.1"));
  const std::string command = find().command;
  EXPECT_EQ(std::count(command.begin(), command.end(), '*'), 32);
  EXPECT_EQ(command.find("vader_segment.*"), std::string::npos);
  for (const std::string& line : split(command, '\n')) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_EQ(in_one_line(command).find_first_of("\n\\"), std::string::npos) << command;
}

TEST(StaleMemory, AFolderThatIsNotThereHoldsNone) {
  EXPECT_EQ(find_stale_memory("/nowhere").files, 0);
}

}  // namespace
}  // namespace tandem::app
