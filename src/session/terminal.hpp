// The terminal of this job's user: that of this process, or that of an mpirun on the same host,
// which forwards its ranks' output. Holds a descriptor of it. Does not throw.
#pragma once

#include <cstddef>
#include <optional>

#include "tandem/core/file.hpp"
#include "tandem/core/stop_signal.hpp"

namespace tandem::app {

class Terminal {
 public:
  // Absent if no output ends on a terminal that can redraw a line (TERM), and if some output goes
  // into a pipe, which may end on the same terminal (| tee).
  static std::optional<Terminal> find();

  bool shows_standard_output() const { return shows_standard_output_; }
  bool shows_standard_error() const { return shows_standard_error_; }
  // The current width; 80 if unknown.
  std::size_t columns() const;

 private:
  Terminal(File file, bool shows_standard_output, bool shows_standard_error);

  File file_;
  bool shows_standard_output_;
  bool shows_standard_error_;
};

// Where `train` reports a request to stop. mpirun forwards nothing for two seconds after Ctrl-C, so
// the message goes to mpirun's terminal. If standard output and the messages share one file, it
// goes to standard output, so that their order stays. The descriptor stays open until the process
// ends.
StopNotice find_stop_notice();

// NO_COLOR is absent or empty (no-color.org).
bool allows_colors();

}  // namespace tandem::app
