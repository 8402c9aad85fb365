// A process that exchanges lines on its standard streams. One thread per object. Nothing throws but
// the constructor: UnavailableError if the program cannot be started.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/file.hpp"

namespace tandem::app {

class HostSession {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit HostSession(const std::vector<std::string>& command);
  // Ends its input, and kills it if it does not end soon.
  ~HostSession();
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  void send(const std::string& line);
  // The next line; absent if the process ends or the time is over.
  std::optional<std::string> receive(Time deadline);
  // It will end soon. Nothing can be sent afterwards.
  void end_input() { input_.reset(); }
  // The last line of its standard error so far, and how it ended: "…; exit code 255". Kills it if
  // it has not ended at the deadline.
  std::string describe_end(Time deadline);

 private:
  pid_t process_ = -1;
  int status_ = -1;  // as waitpid() gives it; -1: it runs
  std::optional<File> input_;
  std::optional<File> output_;
  std::optional<File> errors_;
  std::string received_;
  std::string said_;

  void take_errors();
  bool has_ended(Time deadline);
};

}  // namespace tandem::app
