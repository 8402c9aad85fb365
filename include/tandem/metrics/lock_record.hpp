// What: the text of run.lock, and what follows from it: whether a run may start, and whether a run
// that beats still owns its folder. Owns: values. Threads: any. Throws: nothing.
//
// The decisions are functions of what was read, so that their tests need neither hosts nor time.
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
  std::uint64_t started = 0;  // the process, in clock ticks since boot
  std::uint64_t inode = 0;    // of its run.lock, which tells a copy of a folder from the folder
  std::string token;          // random, another for each owner; empty: an old program's record
  std::uint64_t beat = 0;
  bool released = false;

  // With a new token, and no inode yet.
  static LockRecord of_this_process();
  // Nothing where `text` is no record; an old program wrote its first line alone.
  static std::optional<LockRecord> parse(const std::string& text);
  // Of the same length at each beat.
  std::string text() const;
  std::string owner() const;  // "process 4711 on node8"
};

// As run.lock is before its first record, and as a power cut may leave it.
bool is_blank(const std::string& text);

// When a process of this PID namespace started; nothing: there is none that runs, 0: unknown.
std::optional<std::uint64_t> start_of_process(std::int64_t process);

enum class LockVerdict { kFree, kHeld, kUnclear };

struct LockSight {
  std::string first;          // the content of run.lock at the first look
  std::string now;            // at the last one
  double silent_seconds = 0;  // between them
  // start_of_process() of the owner in `now`; it counts on the owner's host alone.
  std::optional<std::uint64_t> owner_start;
};

// Whether a process with the record `self` may take a lock that the kernel grants it. The kernel
// may know nothing of locks that other hosts hold, so the content decides: an owner on this host
// runs or does not, any other owner has `silence_seconds` to beat. So has one that runs on this
// host where the folder may be a copy of the one that it works in.
LockVerdict judge_lock(const LockSight& sight, const LockRecord& self, double silence_seconds);

enum class BeatVerdict { kOwned, kUnclear, kLost };

// What an owner with `token` finds before it beats. `deposed`: the token that it took over from; a
// suspended process may write it once more when it wakes, and then ends.
BeatVerdict judge_beat(const std::string& content, const std::string& token,
                       const std::string& deposed);

}  // namespace tandem::metrics
