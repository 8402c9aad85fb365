// The time of day as files hold it, elapsed time, and the time for which this process has run.
#pragma once

#include <algorithm>
#include <chrono>

namespace tandem {

// Now, in seconds since 1970 in UTC.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Seconds since its construction without those for which the process was suspended: of the time
// between two calls at most one second counts, so call it more often than that.
class RunningTime {
 public:
  double seconds() {
    const auto now = std::chrono::steady_clock::now();
    sum_ += std::min(std::chrono::duration<double>(now - last_).count(), 1.0);
    last_ = now;
    return sum_;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  double sum_ = 0;
};

}  // namespace tandem
