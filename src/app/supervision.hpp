// What: the watch over a job from which a rank that hangs is noticed: where each rank is, and the
// thread that looks. Module-private.
// Owns: both. Threads: the main thread. Throws: InternalError.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/app/job.hpp"
#include "tandem/comm/rank_board.hpp"
#include "tandem/comm/watchdog.hpp"

namespace tandem::app {

class Supervision {
 public:
  // Collective. Seconds of a stall after which it warns, and after which it ends the job with 124;
  // 0: never. Where MPI lets one thread call it, nobody watches, and rank 0 warns of that.
  Supervision(Job& job, double warn_seconds, double abort_seconds);

  comm::RankBoard& board() { return board_; }
  // Nothing where nobody watches.
  std::optional<comm::Watchdog>& watchdog() { return watchdog_; }
  const std::vector<std::string>& hosts() const { return hosts_; }  // by rank

 private:
  comm::RankBoard board_;
  const std::vector<std::string> hosts_;
  std::optional<comm::Watchdog> watchdog_;
};

}  // namespace tandem::app
