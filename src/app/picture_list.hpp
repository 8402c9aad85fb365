// What: the picture files that a command line names: files, folders, and a list on standard input.
// Owns: its place in them. Threads: one per object. Throws: from the constructor MissingInputError,
// IoError, DataError for a folder without pictures; from next() DataError for a list without files,
// and what the list throws.
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
  // Looks into folders at once, so that a wrong one is told before the work begins. An argument "-"
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
