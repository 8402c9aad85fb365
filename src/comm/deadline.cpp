#include "tandem/comm/deadline.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tandem/core/clock.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/thread.hpp"

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

Deadline::~Deadline() { stop_and_join(thread_, mutex_, changed_, is_met_); }

}  // namespace tandem::comm
