// An all-reduce that adds long fp32 arrays in one order, that of chunk_partition.hpp, with any
// transport and any placement of ranks. A run that moves to other hosts keeps its bits. All other
// calls go to the communicator. Communicator and SharedFloats must outlive it.
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/shared_floats.hpp"

namespace tandem::comm {

class DeterministicAllReduce final : public ForwardingCollectives {
 public:
  // With more ranks each would send too many messages; they use MPI's all-reduce.
  static constexpr int kMaxRanks = 64;
  // Below 64 KiB a second message costs more than parallel additions gain.
  static constexpr std::size_t kMinFloats = 16384;

  // all_reduce() works in pieces of 2 MiB, so that one is added while another is sent.
  static constexpr std::size_t kFloatsPerPiece = std::size_t{1} << 19;

  // At most kMaxRanks ranks. `floats`, made by these ranks, may be null. all_reduce() of ranges
  // inside `floats` uses the shared memory; non-blocking calls use messages, because the shared
  // memory needs barriers.
  DeterministicAllReduce(Communicator& world, SharedFloats* floats)
      : ForwardingCollectives(world), world_(world), floats_(floats) {}

  std::string name() const override;
  bool is_test_thread_safe() const override { return world_.is_test_thread_safe(); }

 private:
  void do_all_reduce(Buffer buffer, Reduction op) override;

  Communicator& world_;
  SharedFloats* const floats_;
};

}  // namespace tandem::comm
