// A list of pictures and their labels: rows of fields with commas or tabs between them, quoted as
// RFC 4180 says. Read row by row. One thread per object. Throws DataError naming the line;
// MissingInputError, IoError.
//
// Without a header a row is path and label. With a header, the column of paths is called path,
// file, filename, file_name, filepath, image or image_path, and the column of labels label, labels,
// class, class_name or target. Other columns are ignored. A header of two unknown names is an
// error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/core/file.hpp"

namespace tandem::data {

struct ListRow {
  std::string path;
  std::string label;
  std::uint64_t line = 0;  // where it begins, from 1
};

class ListFile {
 public:
  // FILE.tsv has tabs between fields. So has a file with another extension than csv whose first
  // line has a tab.
  explicit ListFile(const std::string& path);

  // False at the end. Skips empty rows.
  bool next(ListRow& row);

 private:
  static constexpr int kEnd = -1;

  int take();
  int peek();
  bool read_fields();
  void take_field();
  void read_header();
  void require_picture() const;
  [[noreturn]] void fail(std::uint64_t line, const std::string& fault) const;

  File file_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, buffered_ = 0;
  std::uint64_t offset_ = 0;
  char between_ = ',';
  std::uint64_t line_ = 1;
  std::uint64_t row_line_ = 1;
  std::vector<std::string> fields_;
  bool has_row_ = false;  // fields_ are the next row
  std::size_t columns_ = 2, path_column_ = 0, label_column_ = 1;
};

// FILE.csv or FILE.tsv.
bool looks_like_list(const std::string& path);

}  // namespace tandem::data
