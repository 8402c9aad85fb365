// Prints lines on standard error and standard output. Each line is one write (texts above 4 KiB:
// several), so that lines of several ranks do not mix. Thread-safe. Throws IoError if standard
// output cannot be written. A line for standard error is dropped if it cannot be written, or if no
// process reads from there for 5 s.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

// "tandem: error: …" and "tandem: warning: …" on standard error, escaped, lines of a multi-line
// message kept.
void print_error(std::string_view message);
void print_warning(std::string_view message);
// The same with "tandem: …", neither error nor warning.
void print_note(std::string_view message);
// A line of the command's result on standard output; control characters except newline are escaped.
void print_line(std::string_view line);
// As print_line(), with an IoError if standard output does not accept the line within 5 s.
void print_line_in_time(std::string_view line);
// As print_line(), for progress, which no result depends on. If standard output cannot be written,
// or does not accept the line within 5 s, the line is dropped; the first time a warning says so.
void show_line(std::string_view line);
// Writes bytes to standard output unchanged, for formats with control characters; the caller
// escapes text from outside.
void print_bytes(std::string_view bytes);

// The columns that UTF-8 text takes on a terminal, where a character takes one.
std::size_t display_width(std::string_view text);
// Columns of `rows` aligned, two spaces apart; every row has as many cells as the first.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

// The status line of a terminal that is redrawn in place, and its removal before other output. Does
// not throw.
//
// All processes of a job share the terminal, and a signal handler may print at any time. So once
// the terminal is shared, everything that this process prints on it (StopSignal included) begins
// with clearing the row, in the same write. Each write leaves attributes and cursor unchanged, so a
// killed process needs no cleanup.

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
