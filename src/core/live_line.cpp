#include "tandem/core/live_line.hpp"

#include <unistd.h>

#include <atomic>
#include <string>

#include "write_all.hpp"

namespace tandem {
namespace {

constexpr std::string_view kClearRow = "\r\x1b[K";

// Indexed by descriptor. A signal handler can access only atomics like these.
std::atomic<bool> is_shared[3] = {{false}, {false}, {false}};

}  // namespace

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
