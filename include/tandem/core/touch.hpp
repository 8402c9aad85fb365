// Long work calls a Touch as it advances, so that a watchdog can tell it from a hang. It takes
// nanoseconds, runs on the caller's thread, and may be empty.
#pragma once

#include <functional>

namespace tandem {

using Touch = std::function<void()>;

inline void call(const Touch& touch) {
  if (touch) touch();
}

}  // namespace tandem
