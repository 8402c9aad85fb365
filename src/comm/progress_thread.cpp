#include "tandem/comm/progress_thread.hpp"

#include <chrono>
#include <utility>

#include "tandem/core/host.hpp"
#include "tandem/core/thread.hpp"

namespace tandem::comm {
namespace {

// In this time 10 Gbit/s bring 250 kB, less than a socket buffers; calling more often would cost
// the computing thread, with which the core is shared, more than a few percent.
constexpr std::chrono::microseconds kBetweenCalls{200};

}  // namespace

ProgressThread::ProgressThread(std::function<bool()> advance)
    : advance_(std::move(advance)), thread_([this] { run(); }) {}

ProgressThread::~ProgressThread() { stop_and_join(thread_, mutex_, changed_, stopping_); }

void ProgressThread::begin() {
  if (is_active_ || error_) return;
  is_active_ = true;
  changed_.notify_all();
}

void ProgressThread::finish() {
  is_active_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ProgressThread::run() {
  name_this_thread("progress");
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    if (!is_active_) {
      changed_.wait(lock, [this] { return is_active_ || stopping_; });
      continue;
    }
    try {
      is_active_ = !advance_();
    } catch (...) {  // for finish(), on the thread that can end the run
      error_ = std::current_exception();
      is_active_ = false;
    }
    changed_.wait_for(lock, kBetweenCalls, [this] { return stopping_; });
  }
}

}  // namespace tandem::comm
