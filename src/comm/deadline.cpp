#include "tandem/comm/deadline.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tandem/core/clock.hpp"
#include "tandem/core/host.hpp"

namespace tandem::comm {
namespace {

constexpr double kLongestWait = 0.5;  // seconds

}  // namespace

Deadline::Deadline(double seconds, std::function<void()> on_late) {
  if (seconds <= 0) return;
  thread_ = std::thread([this, seconds, on_late = std::move(on_late)] {
    name_this_thread("deadline");
    std::unique_lock<std::mutex> lock(mutex_);
    RunningTime time;
    for (double left = seconds; left > 0 && !is_met_; left = seconds - time.seconds()) {
      changed_.wait_for(lock, std::chrono::duration<double>(std::min(left, kLongestWait)));
    }
    if (!is_met_) on_late();
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
