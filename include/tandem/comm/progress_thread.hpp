// A thread that lets MPI make progress while another thread computes. Without MPI calls a transfer
// stops as soon as the socket's buffers are empty, for instance between two hooks of backward.
// `advance` runs on this thread while the user does not hold the lock. finish() throws what
// `advance` threw. The destructor joins the thread.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace tandem::comm {

class ProgressThread {
 public:
  // `advance` returns true once nothing is in flight. It is called several thousand times a second
  // from begin() until then, so it should be short.
  explicit ProgressThread(std::function<bool()> advance);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  std::unique_lock<std::mutex> hold() { return std::unique_lock<std::mutex>(mutex_); }
  // Starts calling `advance`. Requires the lock.
  void begin();
  // Stops calling it until begin(). Requires the lock.
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
