#include "data/picture_sources/list_file.hpp"

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

class List : public ::testing::Test {
 protected:
  // "LINE:PATH=LABEL" of each row.
  std::vector<std::string> rows(const std::string& text, const std::string& name = "list.csv") {
    write_bytes(folder_ / name, text);
    ListFile list(folder_ / name);
    std::vector<std::string> rows;
    for (ListRow row; list.next(row);) {
      rows.push_back(std::to_string(row.line) + ":" + row.path + "=" + row.label);
    }
    return rows;
  }
  using Rows = std::vector<std::string>;
  TempDir folder_;
};

TEST_F(List, RowsArePathAndLabel) {
  EXPECT_EQ(rows("a.jpg,cat\r\nb.jpg,dog\n\n \nc.jpg,cat"),
            (Rows{"1:a.jpg=cat", "2:b.jpg=dog", "5:c.jpg=cat"}));
  EXPECT_EQ(rows("a.jpg\tcat,1\n", "list.tsv"), Rows{"1:a.jpg=cat,1"});
  EXPECT_EQ(rows("a.jpg\tcat\n", "list.txt"), Rows{"1:a.jpg=cat"});
  EXPECT_EQ(rows("a.jpg,cat\n", "list.txt"), Rows{"1:a.jpg=cat"});
  EXPECT_EQ(rows("a.jpg,cat;dog\n"), Rows{"1:a.jpg=cat;dog"}) << "the field as it is";
  EXPECT_EQ(rows(""), Rows());
}

TEST_F(List, QuotedFieldsHoldAnything) {
  EXPECT_EQ(rows("\"a,b.jpg\",\"say \"\"cat\"\"\"\n\"line\r\nbreak.jpg\",dog\r\nc.jpg,\"\"\n"),
            (Rows{"1:a,b.jpg=say \"cat\"", "2:line\r\nbreak.jpg=dog", "4:c.jpg="}));
  EXPECT_EQ(rows("a\"b\".jpg,cat\n"), Rows{"1:a\"b\".jpg=cat"}) << "quotes within a plain field";
}

TEST_F(List, HeaderNamesTheColumns) {
  EXPECT_EQ(rows("id,Label , FileName\n1,cat,a.jpg\n2,dog,b.jpg\n"),
            (Rows{"2:a.jpg=cat", "3:b.jpg=dog"}));
  EXPECT_EQ(rows("\xef\xbb\xbfpath,label\na.jpg,cat\n"), Rows{"2:a.jpg=cat"});
  write_bytes(folder_ / "path", "a picture");
  EXPECT_EQ(rows("path,breed\n"), Rows{"1:path=breed"}) << "a file of this name";
  for (const char* path : {"absent.webp", "cats/absent", "absent.jpg"}) {
    EXPECT_EQ(rows(path + std::string(",cat\n")), Rows{"1:" + std::string(path) + "=cat"})
        << "no header: a row as all others, and its file is reported as theirs";
  }
}

TEST_F(List, LongFilesAreReadInParts) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "\"folder/" + std::to_string(i) + ".jpg\",c\n";
  const Rows found = rows(text);
  ASSERT_EQ(found.size(), 20000U);
  EXPECT_EQ(found.back(), "20000:folder/19999.jpg=c");
}

TEST_F(List, FaultsNameTheLine) {
  const auto refuses = [&](const std::string& text, const std::string& part) {
    expect_error(ExitCode::kBadData, {"list.csv: line ", part}, [&] { rows(text); });
  };
  refuses("a.jpg,cat\nb.jpg\n", "line 2 has 1 field, 2 are expected: path and label");
  refuses("path,breed\na.jpg,cat\n", "line 1 is 'path' and 'breed', which is neither a picture");
  refuses("img,label\na.jpg,cat\n", "name the columns path and label, or file, filename, ");
  refuses("path,label,x\na.jpg,cat\n", "line 2 has 2 fields, 3 are expected, as the first line");
  refuses("a.jpg,cat\n\"b.jpg,cat\n", "line 2 has a quoted field without its second quote");
  refuses("\"a\".jpg,cat\n", "line 1 has text after a quoted field");
  refuses("a.jpg," + std::string(70000, 'x'), "more than 65,536 bytes");
  refuses(std::string(10001, ','), "more than 10,000 fields");
  expect_error(ExitCode::kMissingInput, {"absent.csv"},
               [&] { ListFile list(folder_ / "absent.csv"); });
}

}  // namespace
}  // namespace tandem::data
