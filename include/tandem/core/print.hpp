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

}  // namespace tandem
