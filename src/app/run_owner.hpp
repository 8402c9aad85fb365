// What: how a training run behaves as the owner of its folder, or while it waits to become that.
// Module-private. Owns: nothing. Threads: the main thread. Throws: nothing.
#pragma once

#include <functional>

#include "tandem/metrics/run_lock.hpp"

namespace tandem::app {

// A start that watches a silent lock calls `touch`, says what it waits for, and can be stopped by a
// signal (75). A run whose folder was taken over ends the job with 73, whatever its ranks do.
metrics::LockSettings lock_settings(std::function<void()> touch);

}  // namespace tandem::app
