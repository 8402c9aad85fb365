#include "tandem/core/print.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "write_all.hpp"

namespace tandem {
namespace {

std::string escape_lines(std::string_view text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += escape_for_terminal(line) + "\n";
  return out;
}

constexpr std::string_view kClearRow = "\r\x1b[K";

// Indexed by descriptor. A signal handler can access only atomics like these.
std::atomic<bool> is_shared[3] = {{false}, {false}, {false}};

// PIPE_BUF: a pipe that poll() reports as writable accepts this much without blocking (pipe(7)).
constexpr std::size_t kAtOnce = 4096;

// False if the descriptor is not writable within this time.
bool is_ready(int descriptor, int patience) {
  pollfd waited{descriptor, POLLOUT, 0};
  int found = 0;
  do {
    found = ::poll(&waited, 1, patience);
  } while (found < 0 && errno == EINTR);
  return found != 0;
}

constexpr int kPatience = 5000;  // milliseconds

// Indexed by descriptor: the last line could not be written in time. Global, as the descriptors
// are.
std::atomic<bool> is_stuck[3] = {{false}, {false}, {false}};
std::atomic<bool> has_warned_of_output{false};

// For lines that no result depends on: a pager or a stopped terminal blocks the program only once,
// for kPatience at most.
int write_patiently(int descriptor, std::string_view text) {
  const int failure = write_all(descriptor, text, is_stuck[descriptor] ? 0 : kPatience);
  is_stuck[descriptor] = failure == ETIMEDOUT;
  return failure;
}

// A failure of standard error cannot be reported.
void write_to_standard_error(const std::string& text) {
  write_patiently(STDERR_FILENO, std::string(row_cleaner(STDERR_FILENO)) + text);
}

std::string describe_failure(int failure) {
  return std::string("standard output: ") +
         (failure == ETIMEDOUT ? "no process reads it" : errno_text(failure));
}

void write_to_standard_output(std::string_view text, int patience = -1) {
  const int failure = write_all(STDOUT_FILENO, text, patience);
  if (failure != 0) throw IoError(describe_failure(failure));
}

std::string as_line(std::string_view line) {
  return std::string(row_cleaner(STDOUT_FILENO)) + escape_lines(line);
}

}  // namespace

int write_all(int descriptor, std::string_view text, int patience) {
  while (!text.empty()) {
    if (patience >= 0 && !is_ready(descriptor, patience)) return ETIMEDOUT;
    const std::size_t most = patience >= 0 ? kAtOnce : text.size();
    const ssize_t put = ::write(descriptor, text.data(), std::min(text.size(), most));
    if (put < 0 && errno == EINTR) continue;
    // Another process has made the terminal or pipe non-blocking.
    if (put < 0 && errno == EAGAIN && is_ready(descriptor, patience)) continue;
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

void print_line(std::string_view line) { write_to_standard_output(as_line(line)); }

void print_line_in_time(std::string_view line) {
  write_to_standard_output(as_line(line), kPatience);
}

void show_line(std::string_view line) {
  const int failure = write_patiently(STDOUT_FILENO, as_line(line));
  if (failure == 0 || has_warned_of_output.exchange(true)) return;
  print_warning(describe_failure(failure) + "; the work continues, and lines are missing there");
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

void share_terminal(bool standard_output, bool standard_error) {
  is_shared[STDOUT_FILENO] = standard_output;
  is_shared[STDERR_FILENO] = standard_error;
}

std::string_view row_cleaner(int descriptor) {
  return is_shared[descriptor] ? kClearRow : std::string_view("");
}

void draw_live_line(std::string_view line) {
  const int descriptor = is_shared[STDOUT_FILENO] ? STDOUT_FILENO : STDERR_FILENO;
  // The rest of a longer line is cleared last, to avoid flicker. A failed write is ignored; lines
  // that matter report their own failure.
  write_all(descriptor, "\r" + std::string(line) + "\x1b[K", 0);
}

void clear_live_line() { draw_live_line(""); }

}  // namespace tandem
