// What: who and where a rank is, as plain values.
// Owns: nothing. Threads: any, once made. Throws: InternalError from discover().
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
  int allowed_cpus = 1;  // in this rank's affinity mask
  int host_cpus = 1;     // on this host
  int cpu_sharers = 1;   // ranks of this host with the same affinity mask

  // Threads that this rank may use without crowding another one.
  int default_threads() const;
};

// Collective over both communicators.
Topology discover_topology(const Communicator& world, Communicator& node);

// On rank 0 the topology of every rank, in rank order; elsewhere empty. Collective.
std::vector<Topology> gather_topology(Communicator& world, const Topology& mine);

}  // namespace tandem::comm
