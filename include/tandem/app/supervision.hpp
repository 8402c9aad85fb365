// The watch over a job, from the ranks' first agreement to the end of their processes: where each
// rank is, and the thread that ends the job where one hangs. main() makes one for every command
// that runs in a job, and keeps it until MPI has ended. All of it belongs to the main thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/rank_board.hpp"
#include "tandem/comm/topology.hpp"
#include "tandem/comm/watchdog.hpp"

namespace tandem::app {

class Supervision {
 public:
  // Collective. Where MPI lets one thread call it, nobody watches, and rank 0 warns of that.
  Supervision(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
              const comm::Topology& topology, comm::StallLimits limits);

  comm::RankBoard& board() { return board_; }
  // Nothing where nobody watches.
  std::optional<comm::Watchdog>& watchdog() { return watchdog_; }
  const std::vector<std::string>& hosts() const { return hosts_; }  // by rank

  void set_limits(comm::StallLimits limits);
  // Collective. The end of what it does by MPI; the ranks of this host are watched on.
  void leave_mpi();
  // After MPI_Finalize: waits for the ranks of this host that have not come so far, so that one
  // that hangs there is named. The lowest also waits until the others' processes are gone.
  void await_ranks_of_host();

 private:
  void await_processes() const;

  const int rank_;
  comm::RankBoard board_;
  const std::vector<std::string> hosts_;
  comm::StallLimits limits_;
  std::optional<comm::Watchdog> watchdog_;
};

// Ends the process with 124 and names a rank of this host that is stopped, if there is one, where
// MPI_Init and what follows until the ranks are watched takes longer than the limit.
class StartUpWatch {
 public:
  explicit StartUpWatch(comm::StallLimits limits);
  ~StartUpWatch();
  StartUpWatch(const StartUpWatch&) = delete;
  StartUpWatch& operator=(const StartUpWatch&) = delete;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tandem::app
