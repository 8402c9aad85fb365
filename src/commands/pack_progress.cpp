#include "pack_progress.hpp"

#include <algorithm>

#include "tandem/core/clock.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr double kBetweenLines = 10;
constexpr double kBetweenDrawings = 0.5;

}  // namespace

std::string describe_progress(std::uint64_t done, std::uint64_t all, double seconds) {
  const double rate = static_cast<double>(done) / seconds;
  return format_count(done) + " of " + format_count(all) + " pictures packed, " +
         format_count(static_cast<std::int64_t>(rate)) + " pictures/s, " +
         format_duration(static_cast<double>(all - done) / rate) + " left";
}

double seconds_to_next_line(double seconds) { return std::max(kBetweenLines, seconds / 20); }

PackProgress::PackProgress() : terminal_(Terminal::find()) {
  if (terminal_) {
    share_terminal(terminal_->shows_standard_output(), terminal_->shows_standard_error());
  }
  next_at_ = terminal_ ? kBetweenDrawings : kBetweenLines;
}

PackProgress::~PackProgress() {
  clear();
  if (terminal_) share_terminal(false, false);
}

void PackProgress::show(std::uint64_t done, std::uint64_t all) {
  const double seconds = seconds_since(began_);
  if (seconds < next_at_ || done == all) return;
  const std::string line = describe_progress(done, all, seconds);
  if (!terminal_) {
    print_note(line);
    next_at_ = seconds + seconds_to_next_line(seconds);
    return;
  }
  draw_live_line(line.substr(0, std::max<std::size_t>(terminal_->columns(), 2) - 1));
  next_at_ = seconds + kBetweenDrawings;
}

void PackProgress::clear() {
  if (terminal_) clear_live_line();
}

}  // namespace tandem::app
