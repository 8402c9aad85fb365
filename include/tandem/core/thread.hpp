// What: how work is given to a thread of its own. Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <future>

namespace tandem {

// For std::async: where the system grants no more threads (ulimit -u, a control group's pids.max),
// the work is done by the thread that asks for its result, rather than not at all. libstdc++ takes
// a thread wherever it gets one.
constexpr std::launch kThreadIfGranted = std::launch::async | std::launch::deferred;

}  // namespace tandem
