// The text of run.lock, and the decisions from it: whether a run may start, and whether a running
// one still owns its folder. The decisions are pure functions of the text, so their tests need
// neither hosts nor time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem::metrics {

struct LockRecord {
  std::int64_t process = 0;
  std::string host;
  std::string boot;           // /proc/sys/kernel/random/boot_id; empty: unknown
  std::string pid_namespace;  // /proc/self/ns/pid; likewise
  std::uint64_t started = 0;  // start time of the process, in clock ticks since boot
  std::uint64_t inode = 0;    // of its run.lock; differs in a copy of the folder
  std::string token;          // random, different for each owner; empty: an old program's record
  std::uint64_t beat = 0;
  bool released = false;

  // With a new token; the inode is not set yet.
  static LockRecord of_this_process();
  // Absent if `text` is no record. Old programs wrote the first line alone, which is accepted.
  static std::optional<LockRecord> parse(const std::string& text);
  // The length is constant, so that each heartbeat overwrites the previous one.
  std::string text() const;
  std::string owner() const;  // "process 4711 on node8"
};

// Whether run.lock has no record yet, or only the zeros that a power failure may leave.
bool is_blank(const std::string& text);

// Start time of a process of this PID namespace; absent: it does not run, 0: unknown.
std::optional<std::uint64_t> start_of_process(std::int64_t process);

enum class LockVerdict { kFree, kHeld, kUnclear };

struct LockSight {
  std::string first;          // the content of run.lock at the first look
  std::string now;            // at the last one
  double silent_seconds = 0;  // between them
  // start_of_process() of the owner in `now`; meaningful only on the owner's host.
  std::optional<std::uint64_t> owner_start;
};

// Whether a process with the record `self` may take a lock that the kernel grants it. The kernel
// may not see locks that other hosts hold, so the content decides. An owner on this host holds the
// lock if it runs. Any other owner holds it if its heartbeat changes within `silence_seconds`. So
// does an owner that runs on this host if the folder may be a copy of its folder.
LockVerdict judge_lock(const LockSight& sight, const LockRecord& self, double silence_seconds);

enum class BeatVerdict { kOwned, kUnclear, kLost };

// Whether the owner with `token` still owns the lock, checked before each heartbeat. `deposed`: the
// token of the owner that it replaced, which may write once more when it wakes from suspension, and
// then ends.
BeatVerdict judge_beat(const std::string& content, const std::string& token,
                       const std::string& deposed);

}  // namespace tandem::metrics
