#include "tandem/comm/topology.hpp"

#include <unistd.h>

#include <algorithm>

#include "tandem/comm/runtime.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/json.hpp"

namespace tandem::comm {

TANDEM_JSON_STRUCT(Topology, rank, world, local_rank, local_size, host, allowed_cpus, host_cpus,
                   cpu_sharers, cpu_limit, limit_sharers)

namespace {

int count_like(Communicator& node, std::uint64_t mine) {
  const std::vector<std::uint64_t> all = node.all_gather(mine);
  return static_cast<int>(std::count(all.begin(), all.end(), mine));
}

}  // namespace

int Topology::default_threads() const {
  const int of_mask = allowed_cpus / cpu_sharers;
  const int of_limit = cpu_limit > 0 ? static_cast<int>(cpu_limit / limit_sharers) : of_mask;
  return std::max(1, std::min(of_mask, of_limit));
}

Topology discover_topology(const Communicator& world, Communicator& node) {
  Topology topology;
  topology.rank = world.rank();
  topology.world = world.size();
  topology.local_rank = node.rank();
  topology.local_size = node.size();

  topology.host = host_name();

  const std::vector<int> cpus = allowed_cpus();
  topology.allowed_cpus = static_cast<int>(cpus.size());
  topology.host_cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));

  topology.cpu_sharers = count_like(node, hash64(cpus.data(), cpus.size() * sizeof cpus.front()));
  const CpuLimit limit = Cgroup().cpu_limit().value_or(CpuLimit());
  topology.cpu_limit = limit.cpus;
  topology.limit_sharers = count_like(node, limit.group);
  return topology;
}

std::vector<Topology> gather_topology(Communicator& world, const Topology& mine) {
  std::vector<Topology> all;
  // The name of a host may hold any byte.
  const std::string line = dump_any_bytes(Json(mine));
  for (const std::string& text : world.gather_strings(line)) {
    all.push_back(Json::parse(text).get<Topology>());
  }
  return all;
}

}  // namespace tandem::comm
