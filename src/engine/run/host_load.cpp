#include "host_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "tandem/core/clock.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/host_counters.hpp"

namespace tandem::app {
namespace {

// A host without other jobs uses up to this many cores.
constexpr double kQuietCores = 0.2;

struct Times {
  double own = 0;
  double busy = 0;
};

double own_processor_seconds() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// 0 if the host does not report it.
double busy_seconds_of_host() {
  const std::uint64_t ticks = metrics::read_host().busy_ticks.value_or(0);
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// The ranks of each host, by its name.
std::map<std::string, std::vector<RankLoad>> by_host(const std::vector<RankLoad>& ranks) {
  std::map<std::string, std::vector<RankLoad>> hosts;
  for (const RankLoad& each : ranks) hosts[each.topology.host].push_back(each);
  return hosts;
}

double others_of(const std::vector<RankLoad>& ranks_of_host) {
  double others = ranks_of_host.front().busy_cores;
  for (const RankLoad& each : ranks_of_host) others -= each.own_cores;
  return std::max(0.0, others);
}

std::string describe_host(const std::string& name, const std::vector<RankLoad>& ranks) {
  const double others = others_of(ranks);
  double wanted = others;
  double own = 0;
  for (const RankLoad& each : ranks) {
    wanted += each.threads;
    own += each.own_cores / static_cast<double>(ranks.size());
  }
  const int cpus = ranks.front().topology.host_cpus;
  if (others < kQuietCores || wanted < cpus - kQuietCores) return "";
  return "\n" + name + " is busy: other programs use " + format_fixed(others, 1) + " of " +
         format_quantity(cpus, "core") + "; each rank had " + format_fixed(own, 2) + " of " +
         format_quantity(ranks.front().threads, "core");
}

}  // namespace

HostMeter::HostMeter()
    : began_(std::chrono::steady_clock::now()),
      own_seconds_(own_processor_seconds()),
      busy_seconds_(busy_seconds_of_host()) {}

std::vector<RankLoad> HostMeter::finish(Job& job, int threads) const {
  const double seconds = seconds_since(began_);
  const Times mine{(own_processor_seconds() - own_seconds_) / seconds,
                   (busy_seconds_of_host() - busy_seconds_) / seconds};
  const std::vector<Times> times = job.world.all_gather(mine);
  const std::vector<int> thread_counts = job.world.all_gather(threads);
  std::vector<RankLoad> ranks;
  for (comm::Topology& each : comm::gather_topology(job.world, job.topology)) {
    const auto rank = static_cast<std::size_t>(each.rank);
    ranks.push_back({std::move(each), thread_counts[rank], times[rank].own, times[rank].busy});
  }
  return ranks;
}

std::string describe_load(const std::vector<RankLoad>& ranks) {
  const auto hosts = by_host(ranks);
  std::string text;
  for (const auto& [host, of_host] : hosts) {
    text += describe_host(hosts.size() == 1 ? "the host" : host, of_host);
  }
  const auto sharing = std::find_if(ranks.begin(), ranks.end(), [](const RankLoad& each) {
    return each.topology.cpu_sharers > 1 &&
           each.topology.cpu_sharers * each.threads > each.topology.allowed_cpus;
  });
  if (sharing == ranks.end()) return text;
  return text + "\n" + format_quantity(sharing->topology.cpu_sharers, "rank") + " of " +
         format_quantity(sharing->threads, "thread") + " share " +
         format_quantity(sharing->topology.allowed_cpus, "core");
}

double cores_of_others(const std::vector<RankLoad>& ranks) {
  double sum = 0;
  for (const auto& [host, of_host] : by_host(ranks)) sum += others_of(of_host);
  return sum;
}

}  // namespace tandem::app
