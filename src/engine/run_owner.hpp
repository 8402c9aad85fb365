// The lock settings of a training run. Main thread.
#pragma once

#include <functional>

#include "tandem/metrics/run_lock.hpp"

namespace tandem::app {

// A start that watches a silent lock calls `touch`, prints the reason, and can be stopped by a
// signal (75). A run whose folder was taken over ends the job with 73, even if its ranks hang.
metrics::LockSettings lock_settings(std::function<void()> touch);

}  // namespace tandem::app
