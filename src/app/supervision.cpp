#include "supervision.hpp"

#include "tandem/comm/runtime.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// Collective. By rank, on every rank.
std::vector<std::string> hosts_of(Job& job) {
  const std::vector<std::string> hosts = job.world.gather_strings(job.topology.host);
  return split(job.world.broadcast_string(join(hosts, "\n")), '\n');
}

}  // namespace

Supervision::Supervision(Job& job, double warn_seconds, double abort_seconds)
    : board_(job.world, job.node, job.topology), hosts_(hosts_of(job)) {
  if (warn_seconds == 0 && abort_seconds == 0) return;
  if (!comm::Runtime::allows_threads()) {
    job.warn("this MPI lets one thread call it, so nobody watches for ranks that hang");
    return;
  }
  comm::WatchdogSettings settings;
  settings.warn_seconds = warn_seconds;
  settings.abort_seconds = abort_seconds;
  settings.hosts = hosts_;
  settings.warn = print_warning;
  settings.report_end = print_error;
  watchdog_.emplace(board_, job.topology.rank, std::move(settings));
}

}  // namespace tandem::app
