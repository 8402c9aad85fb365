// The picture files of a command line: files, folders, and a list on standard input. One thread per
// object. The constructor throws MissingInputError, IoError, DataError for a folder without
// pictures; next() throws DataError for an empty list, and errors of the list.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tandem::app {

// Gives one line after the other until there is no more.
using NextLine = std::function<std::optional<std::string>()>;

class PictureList {
 public:
  // Lists folders at once, so that a wrong one is reported before the work begins. An argument "-"
  // stands for the lines of `list`, each a path.
  PictureList(const std::vector<std::string>& arguments, NextLine list);

  // A file is given as it is, whether it is there or not; a folder as the pictures in it and in its
  // folders, sorted.
  std::optional<std::string> next();

 private:
  std::optional<std::string> next_line();

  std::vector<std::string> paths_;  // "-" among them
  std::size_t at_ = 0;
  NextLine list_;
  bool has_read_a_line_ = false;
};

}  // namespace tandem::app
