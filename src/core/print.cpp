#include "tandem/core/print.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tandem/core/error.hpp"
#include "tandem/core/live_line.hpp"
#include "tandem/core/text.hpp"
#include "write_all.hpp"

namespace tandem {
namespace {

std::string escape_lines(std::string_view text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += escape_for_terminal(line) + "\n";
  return out;
}

// Nobody is left to tell where standard error cannot be written.
void write_to_standard_error(const std::string& text) {
  write_all(STDERR_FILENO, std::string(row_cleaner(STDERR_FILENO)) + text);
}

void write_to_standard_output(std::string_view text) {
  const int failure = write_all(STDOUT_FILENO, text);
  if (failure != 0) throw IoError(std::string("standard output: ") + std::strerror(failure));
}

}  // namespace

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(descriptor, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

// Characters, not bytes: continuation bytes of UTF-8 take no column.
std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void print_error(std::string_view message) {
  write_to_standard_error("tandem: error: " + escape_lines(message));
}

void print_warning(std::string_view message) {
  write_to_standard_error("tandem: warning: " + escape_lines(message));
}

void print_note(std::string_view message) {
  write_to_standard_error("tandem: " + escape_lines(message));
}

void print_line(std::string_view line) {
  write_to_standard_output(std::string(row_cleaner(STDOUT_FILENO)) + escape_lines(line));
}

void print_bytes(std::string_view bytes) { write_to_standard_output(bytes); }

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - display_width(row[i]) + 2, ' ');
    }
    table += (table.empty() ? "" : "\n") + line;
  }
  return table;
}

}  // namespace tandem
