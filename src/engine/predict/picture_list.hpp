// The picture files of a command line: files, folders, and a list on standard input.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tandem::app {

// Reads lines from standard input or another stream that may block. Call next() on one thread at a
// time, stop() on any. Throws IoError.
class LineReader {
 public:
  // The descriptor stays the caller's; `name` begins messages.
  LineReader(int descriptor, std::string name);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // A line without its newline; nothing at the end.
  std::optional<std::string> next();
  // next() then stops waiting for more input.
  void stop();

 private:
  bool read_more();

  const int descriptor_;
  const std::string name_;
  int stop_event_;
  std::string buffer_;
  std::size_t at_ = 0;  // start of the unreturned text
  bool ended_ = false;
};

// Gives one line after the other until there is no more.
using NextLine = std::function<std::optional<std::string>()>;

// One thread per object. The constructor throws MissingInputError, IoError, DataError for a folder
// without pictures; next() throws DataError for an empty list, and errors of the list.
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
