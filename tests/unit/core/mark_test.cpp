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
  const std::string page = R"(<meta name="generator" content="tandem 0.1.0"/>)";
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

// As `tandem train` and `tandem report` of a version before 2026-11-25 wrote it.
TEST(Mark, IsNotNeededInAPageOfAnEarlierVersion) {
  const std::string begin =
      "<!DOCTYPE html>\n"
      R"(<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/>)"
      R"(<meta name="viewport" content="width=device-width, initial-scale=1"/>)"
      R"(<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; )"
      R"(style-src &#39;unsafe-inline&#39;; img-src data:; base-uri &#39;none&#39;; )"
      R"(form-action &#39;none&#39;"/><meta name="referrer" content="no-referrer"/>)";
  const std::string end = "<title>first – tandem</title><style>\n:root {";
  const testing::TempDir folder;
  const auto marked = [&](const std::string& content) {
    write_file_atomically(folder / "report.html", content);
    return has_mark(folder / "report.html");
  };
  EXPECT_TRUE(marked(begin + end));
  EXPECT_FALSE(marked("<pre>" + begin + end)) << "a text that quotes a page";
  EXPECT_FALSE(marked(begin + "<title>first</title><style>"));
  EXPECT_FALSE(marked("<!DOCTYPE html>\n<html><head>" + end)) << "another page on tandem";
}

TEST(Mark, WithoutItAFileIsNotReplaced) {
  const testing::TempDir folder;
  EXPECT_NO_THROW(require_replaceable(folder / "absent.pth"));
  EXPECT_NO_THROW(require_replaceable(folder.path())) << "the writer says what is wrong";
  const auto refusal = [&](const std::string& name) -> std::string {
    write_file_atomically(folder / name, "weights of months");
    try {
      require_replaceable(folder / name);
    } catch (const CannotCreateError& error) {
      return error.what();
    }
    return "";
  };
  const std::string fix = "; choose another --output, or add --force to replace it";
  for (const std::string name : {"mine.html", "mine.safetensors"}) {
    EXPECT_EQ(refusal(name), folder / name + ": exists already, and tandem did not write it" + fix);
  }
  for (const std::string name : {"mine.pth", "mine.pt"}) {
    EXPECT_EQ(refusal(name),
              folder / name +
                  ": exists already, and has no mark of tandem (versions before 2026-11-25 left "
                  "none in .pth and .pt files)" +
                  fix);
  }
}

}  // namespace
}  // namespace tandem
