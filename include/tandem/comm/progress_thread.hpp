// What: a thread that lets MPI advance while another one computes: what MPI was given goes on only
// while some call is made, and over a link the sockets would run dry between two of backward's
// hooks.
// Owns: the thread, which its destructor ends and waits for. Threads: one uses it; `advance` is
// called on the thread, never while that one holds the lock. Throws: what `advance` threw, at
// finish().
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace tandem::comm {

class ProgressThread {
 public:
  // `advance`: true once nothing is under way. It is called several thousand times a second from
  // begin() until then, so it should be short.
  explicit ProgressThread(std::function<bool()> advance);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  std::unique_lock<std::mutex> hold() { return std::unique_lock<std::mutex>(mutex_); }
  // Something is under way. With the lock.
  void begin();
  // No more calls until begin(). With the lock.
  void finish();

 private:
  void run();

  const std::function<bool()> advance_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_active_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace tandem::comm
