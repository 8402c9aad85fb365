// What: a table, in memory that the ranks of a host share, of where each of them is.
// Owns: the memory. Threads: report() from the main thread, beat() from the watchdog's, view() from
// any. Throws: InternalError.
//
// Where the host has no room for shared memory the table holds this rank alone.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/node_memory.hpp"
#include "tandem/comm/progress.hpp"
#include "tandem/comm/stall_judge.hpp"
#include "tandem/comm/topology.hpp"

namespace tandem::comm {

class RankBoard final : public Progress {
 public:
  // Collective over both.
  RankBoard(MpiCommunicator& world, MpiCommunicator& node, const Topology& topology);
  ~RankBoard() override;

  void report(std::uint64_t step, Phase phase) override;
  void touch() override;
  // That this process runs at all.
  void beat();
  // Every rank of the host, by local rank.
  std::vector<RankView> view() const;

 private:
  struct Row;
  NodeMemory memory_;
  Row* rows_;
  std::size_t row_count_;
  Row* mine_;
};

}  // namespace tandem::comm
