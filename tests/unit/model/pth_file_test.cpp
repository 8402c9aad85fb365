#include "tandem/model/pth_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

// That Python accepts these files is shown in tests/formats.
namespace tandem::model {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(WritePth, WritesAZipOfAPickleAndOneRecordPerTensor) {
  const testing::TempDir folder;
  write_pth(folder / "net.pth", {{"first", torch::ones({2, 3}), false},
                                 {"second", torch::zeros({}, torch::kInt64), true}});
  const std::string bytes = read_file(folder / "net.pth");
  EXPECT_EQ(bytes.substr(0, 4), "PK\x03\x04");
  for (const char* record : {"/data.pkl", "/data/0", "/data/1"}) {
    EXPECT_EQ(count_of(bytes, record), 2U) << record;  // in its local header and in the directory
  }
  EXPECT_EQ(count_of(bytes, "/data/2"), 0U);
  EXPECT_LT(bytes.find("first"), bytes.find("second"));
  EXPECT_EQ(count_of(bytes, "__torch__"), 0U);
}

TEST(WritePth, DoesNotDragAlongTheMemoryThatATensorIsAViewOf) {
  const testing::TempDir folder;
  const torch::Tensor arena = torch::zeros({1'000'000});
  write_pth(folder / "net.pth", {{"slice", arena.narrow(0, 10, 20), false}});
  EXPECT_LT(std::filesystem::file_size(folder / "net.pth"), 4096U);
}

TEST(WritePth, LeavesNothingWhereItCannotWrite) {
  const testing::TempDir folder;
  EXPECT_THROW(write_pth(folder / "missing/net.pth", {{"a", torch::ones({2}), false}}), Error);
  write_pth(folder / "net.pth", {{"a", torch::ones({2}), false}});
  const auto files = std::filesystem::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

}  // namespace
}  // namespace tandem::model
