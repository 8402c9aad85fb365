// What: decides from what ranks report whether one of them has stopped advancing, and which.
// Owns: when it saw each of them change. Threads: one at a time. Throws: nothing.
//
// While one rank hangs, all others wait for it in an exchange, so all look alike to a clock. The
// one to blame is the one whose process does not run; else the one that is furthest behind.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/comm/progress.hpp"

namespace tandem::comm {

struct RankView {
  int rank = 0;
  int process = 0;
  std::uint64_t step = 0;
  Phase phase = Phase::kStartUp;
  std::uint64_t reports = 0;  // changes whenever the rank's work advances
  std::uint64_t beats = 0;    // changes while the process runs
};

struct Stall {
  RankView culprit;
  double seconds = 0;         // without a report
  bool is_silent = false;     // its process does not run: stopped, or starved of its CPU
  bool is_elsewhere = false;  // every rank seen here waits in an exchange for one of another host
};

class StallJudge {
 public:
  // `sees_all`: whether the ranks that look() gets are all of the job.
  explicit StallJudge(bool sees_all) : sees_all_(sees_all) {}

  // Call it several times a second; `now` in seconds of a clock that does not jump. Time in which
  // it was not called (the job was suspended) is not counted. The longest stall, if any rank has
  // not advanced since the last look.
  std::optional<Stall> look(const std::vector<RankView>& ranks, double now);

 private:
  struct Seen {
    std::uint64_t reports = 0;
    std::uint64_t beats = 0;
    double report_at = 0;
    double beat_at = 0;
  };
  void update(const std::vector<RankView>& ranks, double now);

  const bool sees_all_;
  std::vector<Seen> seen_;
  double last_look_ = 0;
};

}  // namespace tandem::comm
