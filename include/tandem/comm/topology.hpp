// Rank, host and CPUs of a process as plain values. discover_topology() throws InternalError.
#pragma once

#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

struct Topology {
  int rank = 0;
  int world = 1;
  int local_rank = 0;  // among the ranks of this host
  int local_size = 1;
  std::string host;
  int allowed_cpus = 1;   // in this rank's affinity mask
  int host_cpus = 1;      // on this host
  int cpu_sharers = 1;    // ranks of this host with the same affinity mask
  double cpu_limit = 0;   // CPUs that its control group may keep busy; 0: no limit
  int limit_sharers = 1;  // ranks of this host in that group

  // The number of threads that this rank can use without competing with another one.
  int default_threads() const;
};

// Collective over both communicators.
Topology discover_topology(const Communicator& world, Communicator& node);

// On rank 0 the topology of every rank, in rank order; elsewhere empty. Collective.
std::vector<Topology> gather_topology(Communicator& world, const Topology& mine);

}  // namespace tandem::comm
