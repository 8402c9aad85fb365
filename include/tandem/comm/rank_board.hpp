// What: a table of where each rank of the job is, one on every host, in memory that the ranks of
// the host share. Owns: the memory. Threads: report() and touch() from the main thread, beat() and
// carry() from the watchdog's, view() from any. Throws: InternalError.
//
// Where the hosts have no room for shared memory each rank has a table of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/node_memory.hpp"
#include "tandem/comm/progress.hpp"
#include "tandem/comm/stall_judge.hpp"
#include "tandem/comm/topology.hpp"

namespace tandem::comm {

class BoardRelay;

class RankBoard final : public Progress {
 public:
  // Collective over both.
  RankBoard(MpiCommunicator& world, MpiCommunicator& node, const Topology& topology);
  // Collective, except on the way out of an error.
  ~RankBoard() override;

  void report(std::uint64_t step, Phase phase) override;
  void touch() override;
  // That this process runs at all.
  void beat();
  // Brings what the ranks of this host report to the other hosts, and theirs here. Never waits.
  void carry();
  // Every rank of the job; what others report is as old as their host's last carry().
  std::vector<RankView> view() const;

 private:
  struct Row;

  const int rank_;
  const int world_;
  NodeMemory memory_;
  std::unique_ptr<BoardRelay> relay_;
  Row* rows_ = nullptr;  // by rank
};

}  // namespace tandem::comm
