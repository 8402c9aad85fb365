#include "supervision.hpp"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "tandem/comm/launcher.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(2);
// A rank that crashed is never done, and its launcher may not end the others.
constexpr double kPatience = 10;

// Collective. By rank, on every rank.
std::vector<std::string> hosts_of(comm::MpiCommunicator& world, const std::string& host) {
  const std::vector<std::string> hosts = world.gather_strings(host);
  return split(world.broadcast_string(join(hosts, "\n")), '\n');
}

}  // namespace

Supervision::Supervision(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
                         const comm::Topology& topology, comm::StallLimits limits)
    : rank_(topology.rank),
      heartbeats_(world, node, topology),
      hosts_(hosts_of(world, topology.host)),
      limits_(limits) {
  if (!comm::Runtime::allows_threads()) {
    if (rank_ == 0) {
      print_warning("this MPI has no MPI_THREAD_MULTIPLE, so ranks that hang are not detected");
    }
    return;
  }
  comm::WatchdogSettings settings;
  settings.limits = limits;
  settings.hosts = hosts_;
  settings.warn = print_warning;
  settings.report_end = print_error;
  watchdog_.emplace(heartbeats_, rank_, std::move(settings));
}

void Supervision::set_limits(comm::StallLimits limits) {
  limits_ = limits;
  if (watchdog_) watchdog_->set_limits(limits);
}

void Supervision::leave_mpi() {
  if (watchdog_) watchdog_->leave_mpi();
  heartbeats_.leave_mpi();
}

void Supervision::await_ranks_of_host() {
  heartbeats_.enter(comm::Phase::kDone);
  if (!watchdog_) return;
  RunningTime time;
  while (!heartbeats_.is_host_done()) {
    if (limits_.abort_seconds == 0 && time.seconds() > kPatience) return;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  await_processes();
}

void Supervision::await_processes() const {
  const std::vector<comm::RankStatus> ranks = heartbeats_.view();
  const int table = ranks[static_cast<std::size_t>(rank_)].table;
  if (table != rank_) return;  // a table's number is that of its lowest rank
  RunningTime time;
  for (const comm::RankStatus& rank : ranks) {
    if (rank.table != table || rank.rank == rank_) continue;
    while (comm::is_rank_process(rank.process, rank.rank)) {
      const double seconds = time.seconds();
      if (limits_.abort_seconds == 0) return;
      if (seconds >= limits_.abort_seconds) {
        const comm::Stall stall{rank, seconds, true, rank_, -1};
        print_error(comm::describe_stall(stall, hosts_[static_cast<std::size_t>(rank.rank)]) +
                    "; the job ends, see --stall-abort");
        ::_exit(static_cast<int>(ExitCode::kStalled));
      }
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }
}

}  // namespace tandem::app
