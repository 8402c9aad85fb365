// What: collectives whose long fp32 sums are added in one order, that of comm/chunk_partition.hpp,
// wherever the ranks are: a run that moves keeps its bits. Others are those of what it stands
// before.
// Owns: nothing; both must outlive it. Threads: as Collectives. Throws: as Collectives.
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/shared_floats.hpp"

namespace tandem::comm {

class DeterministicAllReduce final : public Collectives {
 public:
  // More ranks would send too many messages; for them sums are MPI's.
  static constexpr int kMaxRanks = 64;
  // In fewer floats, 64 KiB, a second message costs more than a second rank adding gains.
  static constexpr std::size_t kMinFloats = 16384;

  // all_reduce() cuts into pieces of 2 MiB, so that one is added while another travels.
  static constexpr std::size_t kFloatsPerPiece = std::size_t{1} << 19;

  // At most kMaxRanks. `floats`, which these ranks made, or nullptr: all_reduce() of what is
  // within it is made there. What is started travels as messages, for there nobody waits for all.
  DeterministicAllReduce(Communicator& world, SharedFloats* floats)
      : world_(world), floats_(floats) {}

  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  std::string name() const override;
  bool is_test_thread_safe() const override { return world_.is_test_thread_safe(); }

 private:
  void do_all_reduce(void* data, std::size_t count, DataType type, Reduction op) override;
  std::unique_ptr<Request> do_iall_reduce(void* data, std::size_t count, DataType type) override;
  void do_broadcast(void* data, std::size_t bytes, int root) override;

  Communicator& world_;
  SharedFloats* const floats_;
};

}  // namespace tandem::comm
