// What: the picture files that a command line names: files, folders, and a list on standard input.
// Owns: its place in them. Threads: one per object. Throws: from the constructor MissingInputError,
// IoError, DataError for a folder without pictures; from next() IoError for the list.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace tandem::app {

class PictureList {
 public:
  // Looks into folders at once, so that a wrong one is told before the work begins. An argument "-"
  // stands for the lines of `list`, each a path.
  PictureList(const std::vector<std::string>& arguments, std::istream& list);

  // A file is given as it is, whether it is there or not; a folder as the pictures in it and in its
  // folders, sorted.
  std::optional<std::string> next();

 private:
  std::optional<std::string> next_line();

  std::vector<std::string> paths_;  // "-" among them
  std::size_t at_ = 0;
  std::istream& list_;
};

}  // namespace tandem::app
