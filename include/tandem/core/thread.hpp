// Launch policy for work on a thread of its own, and the end of such a thread.
#pragma once

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

namespace tandem {

// For std::async: if the system grants no more threads (ulimit -u, a control group's pids.max), the
// thread that asks for the result does the work. Otherwise libstdc++ starts a thread.
constexpr std::launch kThreadIfGranted = std::launch::async | std::launch::deferred;

// Sets `is_stopping` under the mutex, wakes the thread, which waits on `changed`, and joins it.
inline void stop_and_join(std::thread& thread, std::mutex& mutex, std::condition_variable& changed,
                          bool& is_stopping) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    is_stopping = true;
  }
  changed.notify_all();
  if (thread.joinable()) thread.join();
}

}  // namespace tandem
