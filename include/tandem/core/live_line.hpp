// The status line of a terminal that is redrawn in place, and its removal before other output.
// Thread-safe. Does not throw.
//
// All processes of a job share the terminal, and a signal handler may print at any time. So once
// the terminal is shared, everything that this process prints on it (print.hpp, StopSignal) begins
// with clearing the row, in the same write. Each write leaves attributes and cursor unchanged, so a
// killed process needs no cleanup.
#pragma once

#include <string_view>

namespace tandem {

// From now on these streams of this process share a terminal with a process that draws a live line.
// Both false: no longer.
void share_terminal(bool standard_output, bool standard_error);

// The prefix of a write to descriptor 1 or 2: "" unless it goes to a shared terminal. Safe in a
// signal handler.
std::string_view row_cleaner(int descriptor);

// Call it after share_terminal(). The line must be narrower than the terminal and may hold
// attributes that it resets. It goes to standard output if that is the terminal, else to standard
// error.
void draw_live_line(std::string_view line);
void clear_live_line();

}  // namespace tandem
