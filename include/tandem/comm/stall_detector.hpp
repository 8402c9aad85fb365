// Decides from the ranks' heartbeats whether one of them has stalled, which one, and which rank
// reports it. One thread at a time. Does not throw.
//
// While one rank hangs, all others wait for it in an exchange, so no rank advances. The culprit is
// the rank whose process does not run. Ranks of this host are checked first, because heartbeats of
// other hosts come through a rank of this one. If all processes run and any rank advances, there is
// no culprit: the others wait for a rank that reads or writes a large file. If none advances, the
// culprit is the rank that is furthest behind.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/comm/progress.hpp"

namespace tandem::comm {

struct RankStatus {
  int rank = 0;
  int table = 0;  // equal for ranks that see each other directly: those of a host
  int process = 0;
  std::uint64_t step = 0;
  Phase phase = Phase::kStartUp;
  std::uint64_t reports = 0;  // changes whenever the rank's work advances
  std::uint64_t beats = 0;    // changes while the process runs
  int end_code = 0;           // the code with which its watchdog ends the job; 0: it does not
};

struct Stall {
  RankStatus culprit;
  double seconds = 0;      // since it last ran or, if all run, since any rank last reported
  bool is_silent = false;  // its process does not run: stopped, or starved of its CPU
  // The reporting rank: the lowest running rank of the culprit's host, which sees most; otherwise,
  // if that host is unreachable, the lowest running rank of another host. -1: none.
  int reporter = -1;
  int fallback_reporter = -1;
};

class StallDetector {
 public:
  // `rank`: this rank.
  explicit StallDetector(int rank) : rank_(rank) {}

  // Call it several times a second with all ranks in order; `now` in seconds of a monotonic clock.
  // Time without calls (the job was suspended) is not counted. Returns the stall of the culprit,
  // however short, if any rank has not advanced since the last call.
  std::optional<Stall> look(const std::vector<RankStatus>& ranks, double now);

 private:
  struct Seen {
    std::uint64_t reports = 0;
    std::uint64_t beats = 0;
    double report_at = 0;
    double beat_at = 0;
  };
  void update(const std::vector<RankStatus>& ranks, double now);
  bool is_silent(std::size_t index, double now) const;

  const int rank_;
  std::vector<Seen> seen_;
  double last_look_ = 0;
};

}  // namespace tandem::comm
