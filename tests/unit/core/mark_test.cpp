#include "tandem/core/mark.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem {
namespace {

TEST(Mark, IsFoundWhereAWriterLeavesIt) {
  const testing::TempDir folder;
  const std::string far(1 << 19, 'x');
  const std::string page = R"(<meta name="generator" content="tandem 0.1.0" />)";
  const std::string header = R"({"__metadata__":{"tandem_version":"0.1.0"}})";
  const std::string directory = "PK\x01\x02 archive/tandem.txt PK\x05\x06";
  const auto marked = [&](const std::string& name, const std::string& content) {
    write_file_atomically(folder / name, content);
    return has_mark(folder / name);
  };
  EXPECT_TRUE(marked("a.html", "<html>" + page + far));
  EXPECT_TRUE(marked("a.safetensors", "12345678" + header + far));
  EXPECT_TRUE(marked("a.pth", far + directory));
  EXPECT_TRUE(marked("a.pt", directory));
  EXPECT_FALSE(marked("b.html", far + page)) << "a text that quotes a page";
  EXPECT_FALSE(marked("b.html", R"(<meta name="generator" content="pandoc" />)"));
  EXPECT_FALSE(marked("b.safetensors", R"(12345678{"__metadata__":{"format":"pt"}})"));
  EXPECT_FALSE(marked("b.pth", directory + far));
  EXPECT_FALSE(marked("b.pth", "my notes on archive/tandem.txt"));
  EXPECT_FALSE(marked("c.pth", ""));
}

TEST(Mark, WithoutItAFileIsNotReplaced) {
  const testing::TempDir folder;
  EXPECT_NO_THROW(require_replaceable(folder / "absent.pth"));
  EXPECT_NO_THROW(require_replaceable(folder.path())) << "the writer says what is wrong";
  write_file_atomically(folder / "mine.pth", "weights of months");
  try {
    require_replaceable(folder / "mine.pth");
    FAIL();
  } catch (const CannotCreateError& error) {
    EXPECT_EQ(std::string(error.what()),
              folder / "mine.pth" +
                  ": is there already, and tandem did not write it; choose another --output, or "
                  "add --force to replace it");
  }
}

}  // namespace
}  // namespace tandem
