#include "tandem/core/print.hpp"

#include <unistd.h>

#include <algorithm>

#include "tandem/core/text.hpp"

namespace tandem {
namespace {

std::string escape_lines(std::string_view text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += escape_for_terminal(line) + "\n";
  return out;
}

void write_once(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(descriptor, text.data(), text.size());
    if (put <= 0) return;  // nobody is left to tell
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

// Characters, not bytes: continuation bytes of UTF-8 take no column.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void print_error(std::string_view message) {
  write_once(STDERR_FILENO, "tandem: error: " + escape_lines(message));
}

void print_warning(std::string_view message) {
  write_once(STDERR_FILENO, "tandem: warning: " + escape_lines(message));
}

void print_line(std::string_view line) { write_once(STDOUT_FILENO, escape_lines(line)); }

void print_error_line(std::string_view line) { write_once(STDERR_FILENO, escape_lines(line)); }

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width(row[i]) + 2, ' ');
    }
    table += (table.empty() ? "" : "\n") + line;
  }
  return table;
}

}  // namespace tandem
