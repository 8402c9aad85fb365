#include "start_up_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tandem/comm/launcher.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// The lowest running rank reports and ends the job. If it does not, the next one does a turn later.
constexpr auto kTurn = std::chrono::milliseconds(1000);
constexpr int kMaxTurns = 3;

// Before MPI has connected the ranks, only /proc shows their state.
[[noreturn]] void end_start_up(double seconds) {
  const int rank = comm::launcher_rank();
  const std::vector<comm::RankProcess> others = comm::other_ranks_of_host();
  const auto report_before = [&](const comm::RankProcess& each) {
    return each.rank < rank && !each.is_stopped;
  };
  const auto turns = std::count_if(others.begin(), others.end(), report_before);
  const auto stopped = std::find_if(others.begin(), others.end(),
                                    [](const comm::RankProcess& each) { return each.is_stopped; });
  // If all ranks of this host run, another host may know which rank is stopped, so let it go first.
  const int patience = stopped == others.end() ? 1 : 0;
  std::this_thread::sleep_for(std::min(static_cast<int>(turns) + patience, kMaxTurns) * kTurn);
  std::string text = "rank " + std::to_string(rank) + " (" + kernel_host_name() +
                     "): MPI did not connect all ranks within " + format_fixed(seconds, 0) +
                     " s, and no rank of this host is stopped; check the network between the hosts "
                     "(--mca btl_tcp_if_include, firewall)";
  if (stopped != others.end()) {
    const comm::RankStatus culprit{stopped->rank, 0, stopped->process};
    text = comm::describe_stall({culprit, seconds, true, rank, -1}, kernel_host_name());
  }
  print_error(text + "; the job ends, see --stall-abort");
  ::_exit(static_cast<int>(ExitCode::kStalled));
}

}  // namespace

StartUpWatch::StartUpWatch(comm::StallLimits limits)
    : deadline_(limits.abort_seconds, [seconds = limits.abort_seconds] { end_start_up(seconds); }) {
}

}  // namespace tandem::app
