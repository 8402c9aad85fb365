// The time of day as files hold it, and the time for which this process has run.
#pragma once

#include <chrono>

namespace tandem {

// Now, in seconds since 1970 in UTC.
double unix_seconds();

// Seconds since its construction without those for which the process was suspended: of the time
// between two calls at most one second counts, so call it more often than that.
class RunningTime {
 public:
  double seconds();

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  double sum_ = 0;
};

}  // namespace tandem
