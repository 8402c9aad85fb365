// The step, phase and heartbeat of every rank, in a table in the shared memory of each host. Ranks
// that cannot share memory have a table each. Call report() on the main thread, beat(),
// announce_end() and exchange() on the watchdog's, touch() and view() on any. Throws InternalError;
// AgreedError (69) if a rank has no memory for the table.
//
// The table outlives MPI: after leave_mpi() all functions but exchange() may be called, even during
// MPI_Finalize.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/node_memory.hpp"
#include "tandem/comm/progress.hpp"
#include "tandem/comm/stall_detector.hpp"
#include "tandem/comm/topology.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {

class HeartbeatRelay;

class HeartbeatTable final : public Progress {
 public:
  // Collective over both communicators.
  HeartbeatTable(MpiCommunicator& world, MpiCommunicator& node, const Topology& topology);
  // Leaves the relay's MPI objects to MPI_Finalize, unless leave_mpi() was called.
  ~HeartbeatTable() override;

  void report(std::uint64_t step, Phase phase) override;
  void touch() override;
  // Reports a new phase of the same step.
  void enter(Phase phase);
  // Records that this process runs.
  void beat();
  // Records that this rank ends the job with this code. Call it before the rank reports why, so
  // that no other rank reports.
  void announce_end(ExitCode code);
  // Sends the rows of this host to the other hosts, and receives theirs. Never waits.
  void exchange();
  // Collective. Ends the exchange between hosts; exchange() must not be called any more.
  void leave_mpi();
  // The status of every rank of the job. Rows of other hosts are as old as their host's last
  // exchange(). After leave_mpi() ranks of other hosts are shown as done.
  std::vector<RankStatus> view() const;
  // Whether all ranks that share this table are in Phase::kDone.
  bool is_host_done() const;

 private:
  struct Row;

  const int rank_;
  const int world_;
  NodeMemory memory_;
  std::unique_ptr<HeartbeatRelay> relay_;
  Row* rows_ = nullptr;  // by rank
  std::atomic<bool> sees_host_only_{false};
};

}  // namespace tandem::comm
