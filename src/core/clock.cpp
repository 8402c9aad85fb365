#include "tandem/core/clock.hpp"

#include <algorithm>

namespace tandem {

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double RunningTime::seconds() {
  const auto now = std::chrono::steady_clock::now();
  sum_ += std::min(std::chrono::duration<double>(now - last_).count(), 1.0);
  last_ = now;
  return sum_;
}

}  // namespace tandem
