// Reads lines from standard input or another stream that may block. Call next() on one thread at a
// time, stop() on any. Throws IoError.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tandem::app {

class LineReader {
 public:
  // The descriptor stays the caller's; `name` begins messages.
  LineReader(int descriptor, std::string name);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Without its newline; nothing after the last one.
  std::optional<std::string> next();
  // Ends the wait for more than has been read.
  void stop();

 private:
  bool read_more();

  const int descriptor_;
  const std::string name_;
  int stop_event_;
  std::string buffer_;
  std::size_t at_ = 0;  // of what has not been given out
  bool ended_ = false;
};

}  // namespace tandem::app
