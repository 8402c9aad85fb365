// What: the line of a terminal that is redrawn in place, and its removal before anything else is
// printed there. Owns: nothing. Threads: any. Throws: nothing.
//
// The terminal belongs to all processes of a job, and a signal may speak at any time, so nobody
// asks whether the line is there: once the terminal is shared, whatever this process prints on it
// (print.hpp, StopSignal) begins by clearing the row, in the same write. Neither attributes nor the
// cursor stay changed after a write, so that there is nothing to restore when a process is killed.
#pragma once

#include <string_view>

namespace tandem {

// From now on these streams of this process end on a terminal on which one process of the job, this
// one or another, draws such a line. Neither: no longer.
void share_terminal(bool standard_output, bool standard_error);

// What a write to descriptor 1 or 2 begins with: "" where it does not end on a shared terminal. May
// be called by a signal's handler.
std::string_view row_cleaner(int descriptor);

// Only after share_terminal(). The line must be narrower than the terminal, and may hold
// attributes that it takes back. It is drawn on standard output, in order with what is printed
// there, where that ends on the terminal, else on standard error.
void draw_live_line(std::string_view line);
void clear_live_line();

}  // namespace tandem
