#include "start_checks.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdint>

#include "doctor_judge.hpp"
#include "tandem/core/clock.hpp"

namespace tandem::app {
namespace {

// Each rank of a host tries to read the memory of the next, as Open MPI does with large messages.
bool reads_next_rank(comm::Communicator& node) {
  const auto size = static_cast<std::size_t>(node.size());
  if (size < 2 || is_told_not_to_read()) return true;
  const auto mine = static_cast<std::size_t>(node.rank());
  const char byte = 1;
  std::vector<std::uint64_t> processes(size, 0);
  std::vector<std::uint64_t> addresses(size, 0);
  processes[mine] = static_cast<std::uint64_t>(::getpid());
  addresses[mine] = reinterpret_cast<std::uintptr_t>(&byte);
  node.all_reduce(Span<std::uint64_t>(processes));
  node.all_reduce(Span<std::uint64_t>(addresses));
  const std::size_t next = (mine + 1) % size;
  // A pointer of another process comes as a number. NOLINTNEXTLINE(performance-no-int-to-ptr)
  const auto* const address = reinterpret_cast<const void*>(addresses[next]);
  const bool reads = can_read_process(static_cast<pid_t>(processes[next]), address);
  node.barrier();  // until then the byte is there
  return reads;
}

// Seconds that the clock of this rank is ahead of rank 0's; the smallest of a few answers, because
// a rank may be held up between a barrier and its look at the clock.
double clock_offset(comm::Communicator& world) {
  constexpr int kReadings = 3;
  double smallest = 0;
  for (int i = 0; i < kReadings; ++i) {
    world.barrier();
    const double mine = unix_seconds();
    double first = mine;
    world.broadcast(Span<double>(&first, 1));
    const double offset = mine - first;
    if (i == 0 || std::fabs(offset) < std::fabs(smallest)) smallest = offset;
  }
  return smallest;
}

}  // namespace

RankFacts look_at_start(Job& job, int threads) {
  RankFacts facts;
  facts.rank = job.topology.rank;
  facts.world = job.topology.world;
  facts.host = job.topology.host;
  facts.allowed_cpus = job.topology.allowed_cpus;
  facts.host_cpus = job.topology.host_cpus;
  facts.cpu_sharers = job.topology.cpu_sharers;
  facts.threads = threads;
  look_around(facts);
  facts.reads_sibling = reads_next_rank(job.node);
  facts.clock_offset = clock_offset(job.world);
  return facts;
}

std::vector<RankFacts> gather_facts(Job& job, const RankFacts& mine) {
  // Messages of the system and names of hosts may hold any byte.
  const std::string text = dump_any_bytes(Json(mine));
  std::vector<RankFacts> facts;
  for (const std::string& each : job.world.gather_strings(text)) {
    facts.push_back(Json::parse(each).get<RankFacts>());
  }
  return facts;
}

void warn_of_start(Job& job, const RankFacts& mine) {
  for (const Finding& finding : judge(gather_facts(job, mine), {})) {
    if (finding.code == "W180") continue;
    if (finding.code == "E101" && is_started_without_pmi()) continue;  // said before MPI began
    job.warn(finding.text());
  }
}

}  // namespace tandem::app
