#include "tandem/comm/deadline.hpp"

#include <chrono>
#include <utility>

#include "tandem/core/host.hpp"

namespace tandem::comm {

Deadline::Deadline(double seconds, std::function<void()> on_late) {
  if (seconds <= 0) return;
  thread_ = std::thread([this, seconds, on_late = std::move(on_late)] {
    name_this_thread("deadline");
    std::unique_lock<std::mutex> lock(mutex_);
    const auto limit = std::chrono::duration<double>(seconds);
    if (!changed_.wait_for(lock, limit, [this] { return is_met_; })) on_late();
  });
}

Deadline::~Deadline() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_met_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace tandem::comm
