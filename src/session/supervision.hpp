// Detects hangs from the ranks' first agreement to the end of their processes. Owns the table of
// the ranks' progress and the watchdog thread that ends the job if a rank hangs. run() makes one
// for every command that runs in a job and keeps it until MPI has ended. Main thread only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/comm/heartbeat_table.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/topology.hpp"
#include "tandem/comm/watchdog.hpp"

namespace tandem::app {

class Supervision {
 public:
  // Collective. Without MPI_THREAD_MULTIPLE there is no watchdog, and rank 0 warns.
  Supervision(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
              const comm::Topology& topology, comm::StallLimits limits);

  comm::HeartbeatTable& heartbeats() { return heartbeats_; }
  // Absent without MPI_THREAD_MULTIPLE.
  std::optional<comm::Watchdog>& watchdog() { return watchdog_; }
  const std::vector<std::string>& hosts() const { return hosts_; }  // by rank

  void set_limits(comm::StallLimits limits);
  // Collective. Makes no MPI calls from now on; the ranks of this host are still watched.
  void leave_mpi();
  // After MPI_Finalize: waits until the other ranks of this host are done, so that one that hangs
  // in MPI_Finalize is named. The lowest rank also waits until their processes are gone.
  void await_ranks_of_host();

 private:
  void await_processes() const;

  const int rank_;
  comm::HeartbeatTable heartbeats_;
  const std::vector<std::string> hosts_;
  comm::StallLimits limits_;
  std::optional<comm::Watchdog> watchdog_;
};

}  // namespace tandem::app
