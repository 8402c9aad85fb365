// Calls a function once, on a thread of its own, if the object still exists after some seconds.
// Time for which the process is suspended does not count. For calls that the watchdog cannot cover,
// such as MPI_Init. Throws std::system_error if no thread can be started.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tandem::comm {

class Deadline {
 public:
  // 0 seconds: never.
  Deadline(double seconds, std::function<void()> on_late);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_met_ = false;
  std::thread thread_;  // last
};

}  // namespace tandem::comm
