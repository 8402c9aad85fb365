// Launch policy for work on a thread of its own.
#pragma once

#include <future>

namespace tandem {

// For std::async: if the system grants no more threads (ulimit -u, a control group's pids.max), the
// thread that asks for the result does the work. Otherwise libstdc++ starts a thread.
constexpr std::launch kThreadIfGranted = std::launch::async | std::launch::deferred;

}  // namespace tandem
