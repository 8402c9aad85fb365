// Produces items ahead of their consumer on a background thread. `make` runs on that thread only.
// Call next() on one thread at a time; it rethrows what `make` threw, after the items made before.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tandem/core/host.hpp"

namespace tandem::data {

template <typename T>
class Prefetcher {
 public:
  // Calls `make` until it returns nothing, at most `ahead` items before they are needed.
  Prefetcher(std::function<std::optional<T>()> make, std::size_t ahead,
             const std::string& thread_name)
      : make_(std::move(make)), ahead_(ahead), thread_([this, name = thread_name] {
          name_this_thread(name.c_str());
          produce();
        }) {}
  // May run at any time; the thread ends after its current item.
  ~Prefetcher() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // The next item; absent after the last one.
  std::optional<T> next() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
    if (ready_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return std::nullopt;
    }
    T made = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return made;
  }

 private:
  void produce() {
    std::exception_ptr failure;
    try {
      while (std::optional<T> made = make_()) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return ready_.size() < ahead_ || stopping_; });
        if (stopping_) return;
        ready_.push_back(std::move(*made));
        lock.unlock();
        changed_.notify_all();
      }
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = failure;
    finished_ = true;
    changed_.notify_all();
  }

  const std::function<std::optional<T>()> make_;
  const std::size_t ahead_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<T> ready_;
  std::exception_ptr failure_;
  bool finished_ = false;
  bool stopping_ = false;

  std::thread thread_;  // last: everything above exists before it starts
};

}  // namespace tandem::data
