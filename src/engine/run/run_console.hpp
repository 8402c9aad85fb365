// How a training run shows its progress: as a live line or as plain lines. Rank 0 decides, because
// it knows the launcher's terminal, and tells all ranks, whose messages may come between. Holds the
// terminal. Main thread. Throws AgreedError.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/train_options.hpp"
#include "session/job.hpp"
#include "session/terminal.hpp"
#include "tandem/comm/heartbeat_table.hpp"
#include "tandem/metrics/console.hpp"

namespace tandem::app {

class RunConsole {
 public:
  // Collective.
  RunConsole(Job& job, const TrainReporting& reporting);

  // Console settings of rank 0, without the run's own fields; valid while this object exists.
  // `devices`: GpuBinding::text() of each rank; `hosts`: by rank.
  metrics::ConsoleSettings settings(const std::vector<std::string>& hosts,
                                    const std::vector<std::string>& devices) const;

 private:
  std::optional<Terminal> terminal_;  // on rank 0, if it shows a live line
  metrics::ProgressStyle progress_ = metrics::ProgressStyle::kLines;
  std::vector<int> log_ranks_;
};

// Progress of the running evaluation: images done and in all. Any thread.
struct EvaluationCount {
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> images{0};
};

// The current activity of rank 0; `first`: the first step of this start of the run.
metrics::Position position_on(const comm::HeartbeatTable& heartbeats, std::uint64_t first,
                              const EvaluationCount& evaluation);

}  // namespace tandem::app
