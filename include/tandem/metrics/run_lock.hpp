// Keeps a second run out of a run folder, even if the file system's locks work within one host
// only. It takes an open-file-description lock on run.lock, which the kernel drops with the
// process, and writes owner and heartbeat into the file (lock_record.hpp). The file is never
// deleted: a file that comes and goes can be locked twice.
//
// Construct and destroy it on rank 0's main thread; a thread of its own writes the heartbeat.
// Throws CannotCreateError if another process holds the lock or the file cannot be written, IoError
// if it cannot be read, std::system_error if no thread can start.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace tandem::metrics {

struct LockSettings {
  double beat_seconds = 3;
  double stale_seconds = 6;     // require_held() reads the file if the last heartbeat is older
  double silence_seconds = 30;  // after which an owner on another host counts as gone
  double look_seconds = 0.25;
  double ending_seconds = 5;  // wait of a start for an owner on this host that may be ending
  double settle_seconds = 2;  // wait of a start that takes a silent lock, to see other such starts
  // Called between two looks; may throw.
  std::function<void(double)> pause;
  // Called once, before the first pause, with the reason for the wait.
  std::function<void(const std::string&)> on_wait;
  // Called on any thread when another run has taken over the folder. Need not return.
  std::function<void(const std::string&)> on_lost;
};

class RunLock {
 public:
  // `folder` exists. Returns or throws at once, or within twice `ending_seconds` if a process of
  // this host holds the lock or ends just now. If the last owner is not visible on this host and
  // did not record that it ended, watches its heartbeat for `silence_seconds`.
  explicit RunLock(const std::string& folder, LockSettings settings = {});
  ~RunLock();
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;

  // Whether a process holds the lock of `folder`, as far as its file system reports it. Changes
  // nothing.
  static bool is_held(const std::string& folder);
  // Whether `folder` has a run.lock that a run wrote.
  static bool is_in(const std::string& folder);

  // What names the last owner of `folder`, different for each; "" without a record of one, and of
  // an earlier version.
  static std::string owner_of(const std::string& folder);

  // CannotCreateError if another run has taken over the folder. Reads the file only if the last
  // heartbeat is old, as after a suspension. Any thread.
  void require_held() const;

 private:
  class Heartbeat;
  std::unique_ptr<Heartbeat> heartbeat_;
};

}  // namespace tandem::metrics
