// What: the picture files that a command line names: files, folders, and a list on standard input.
// Owns: its place in them. Threads: one per object. Throws: MissingInputError, IoError, DataError
// for a folder without pictures.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace tandem::app {

class PictureList {
 public:
  // An argument "-" stands for the lines of `list`, each a path.
  PictureList(std::vector<std::string> arguments, std::istream& list);

  // A file is given as it is, whether it is there or not; a folder as the pictures in it and in its
  // folders, sorted.
  std::optional<std::string> next();

 private:
  std::optional<std::string> next_line();
  void enter_folder(const std::string& path);

  const std::vector<std::string> arguments_;
  std::istream& list_;
  std::size_t argument_ = 0;
  std::vector<std::string> of_folder_;  // the rest of the present folder, last first
};

}  // namespace tandem::app
