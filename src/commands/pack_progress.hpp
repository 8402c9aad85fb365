// The progress of `tandem pack` and the time left: one line that is redrawn on a terminal;
// otherwise lines on standard error at growing intervals. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "session/terminal.hpp"

namespace tandem::app {

// "1,200 of 5,000 pictures packed, 400 pictures/s, 0:10 left"; assumes the rate so far.
std::string describe_progress(std::uint64_t done, std::uint64_t all, double seconds);
// Seconds between two lines of a log: 10, later a twentieth of the time so far.
double seconds_to_next_line(double seconds);

class PackProgress {
 public:
  PackProgress();
  ~PackProgress();
  PackProgress(const PackProgress&) = delete;
  PackProgress& operator=(const PackProgress&) = delete;

  // Of `all` pictures `done` are packed.
  void show(std::uint64_t done, std::uint64_t all);
  // Before other output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<Terminal> terminal_;
  const Clock::time_point began_ = Clock::now();
  double next_at_ = 0;  // seconds since then
};

}  // namespace tandem::app
