// An all-reduce that adds long fp32 arrays in one order, with any transport and any placement of
// ranks: that of chunk_partition.hpp, and among more than kMaxRanksInLinearRounds ranks that of
// circulant_rounds.hpp. A run that moves to other hosts keeps its bits. `world` makes all other
// calls. It must outlive this object.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "shared_floats.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {

class DeterministicAllReduce final : public ForwardingCollectives {
 public:
  // Below 64 KiB a second message costs more than parallel additions gain.
  static constexpr std::size_t kMinFloats = 16384;

  // all_reduce() works in pieces of 2 MiB, so that one is added while another is sent.
  static constexpr std::size_t kFloatsPerPiece = std::size_t{1} << 19;

  // `floats`, made by these ranks, may be null. all_reduce() of ranges inside `floats` uses the
  // shared memory. Other sums use messages on `route`. So do all non-blocking sums, because the
  // shared memory needs barriers.
  DeterministicAllReduce(MpiCommunicator& world, std::shared_ptr<SharedFloats> floats, Route route);

  std::string name() const override;
  bool is_test_thread_safe() const override { return world_.is_test_thread_safe(); }

 private:
  void do_all_reduce(Buffer buffer) override;
  std::unique_ptr<Request> do_iall_reduce(Buffer values) override;

  MpiCommunicator& world_;
  const std::shared_ptr<SharedFloats> floats_;
  const Route route_;
};

}  // namespace tandem::comm
