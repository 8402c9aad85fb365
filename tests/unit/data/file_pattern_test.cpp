#include "data/files/file_pattern.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::TempDir;
using testing::write_bytes;
using Names = std::vector<std::string>;

class FilePattern : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a-1.h5", "a-2.h5", "a-10.h5", "b.h5", "{x}.h5", "p,q.h5"}) {
      write_bytes(folder_ / name, "x");
    }
  }
  Names of(const std::string& word) {
    Names names = files_of_pattern(folder_ / word);
    for (std::string& name : names) name.erase(0, folder_.path().size() + 1);
    return names;
  }
  TempDir folder_;
};

TEST_F(FilePattern, NamesFilesInTheOrderOfBytes) {
  EXPECT_EQ(of("a-*.h5"), (Names{"a-1.h5", "a-10.h5", "a-2.h5"}));
  EXPECT_EQ(of("a-{1..2}.h5"), (Names{"a-1.h5", "a-2.h5"}));
  EXPECT_EQ(of("{b,a-1}.h5"), (Names{"a-1.h5", "b.h5"}));
  EXPECT_EQ(of("{a-?,b}.h5"), (Names{"a-1.h5", "a-2.h5", "b.h5"}));
  EXPECT_EQ(of("b.h5," + (folder_ / "a-1.h5")), (Names{"a-1.h5", "b.h5"}));
}

TEST_F(FilePattern, FileOfExactlyThisNameIsMeant) {
  EXPECT_EQ(of("{x}.h5"), Names{"{x}.h5"});
  EXPECT_EQ(of("p,q.h5"), Names{"p,q.h5"});
  EXPECT_EQ(of("absent.h5"), Names{"absent.h5"}) << "no pattern: opening it says so";
  EXPECT_FALSE(is_file_pattern(folder_ / "{x}.h5"));
  EXPECT_TRUE(is_file_pattern(folder_ / "a-*.h5"));
}

TEST_F(FilePattern, NumbersKeepTheirZeros) {
  for (const char* name : {"008", "009", "010"})
    write_bytes(folder_ / (name + std::string(".tar")), "");
  EXPECT_EQ(of("{008..010}.tar"), (Names{"008.tar", "009.tar", "010.tar"}));
  expect_error(ExitCode::kMissingInput, {"8.tar: is not there"}, [&] { of("{8..10}.tar"); });
}

TEST_F(FilePattern, WrongOnesAreNamed) {
  expect_error(ExitCode::kMissingInput, {"c-*.h5: no file has such a name"}, [&] { of("c-*.h5"); });
  expect_error(ExitCode::kMissingInput, {"a-3.h5: is not there; ", "a-{1..3}.h5 names it"},
               [&] { of("a-{1..3}.h5"); });
  for (const char* word : {"a-1.h5,", "a-1.h5,,a-2.h5"}) {
    expect_error(ExitCode::kUsage, {": has an empty name beside a comma"}, [&] { of(word); });
  }
  expect_error(ExitCode::kUsage, {"a-1.h5: is named twice"}, [&] { of("a-{1,?}.h5"); });
  expect_error(ExitCode::kUsage, {"more than 1,000,000"}, [&] { of("{0..999999}{0..9}.h5"); });
  expect_error(ExitCode::kUsage, {"more than 1,000,000"}, [&] { of("{0..9999999}.h5"); });
}

}  // namespace
}  // namespace tandem::data
