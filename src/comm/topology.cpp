#include "tandem/comm/topology.hpp"

#include <unistd.h>

#include <algorithm>

#include "tandem/comm/runtime.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {

int Topology::default_threads() const { return std::max(1, allowed_cpus / cpu_sharers); }

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

  std::vector<std::uint64_t> masks(static_cast<std::size_t>(node.size()), 0);
  const std::uint64_t mine = hash64(cpus.data(), cpus.size() * sizeof cpus.front());
  masks[static_cast<std::size_t>(node.rank())] = mine;
  node.all_reduce(Span<std::uint64_t>(masks));
  topology.cpu_sharers = static_cast<int>(std::count(masks.begin(), masks.end(), mine));
  return topology;
}

std::vector<Topology> gather_topology(Communicator& world, const Topology& mine) {
  std::string line;
  for (const int value : {mine.rank, mine.world, mine.local_rank, mine.local_size,
                          mine.allowed_cpus, mine.host_cpus, mine.cpu_sharers}) {
    line += std::to_string(value) + "\n";
  }
  std::vector<Topology> all;
  for (const std::string& text : world.gather_strings(line + mine.host)) {
    const std::vector<std::string> parts = split(text, '\n');
    Topology one;
    std::size_t at = 0;
    for (int* value : {&one.rank, &one.world, &one.local_rank, &one.local_size, &one.allowed_cpus,
                       &one.host_cpus, &one.cpu_sharers}) {
      *value = std::stoi(parts[at++]);
    }
    one.host = parts[at];
    all.push_back(one);
  }
  return all;
}

}  // namespace tandem::comm
