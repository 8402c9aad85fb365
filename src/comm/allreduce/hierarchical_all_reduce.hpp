// An all-reduce in two levels, in host memory: a reduce within each host, an all-reduce between the
// leaders of the hosts, and a broadcast within each host. Owns the communicators that it makes; the
// others must outlive it.
//
// All ranks get the leaders' result, so they end with the same bits. MPI chooses the order of
// additions within a host; it is the same each time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bf16_all_reduce.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/pipeline.hpp"

namespace tandem::comm {

class HierarchicalAllReduce final : public ForwardingCollectives {
 public:
  // Collective. `node`: the ranks of this host; its rank 0 is the leader. Nothing else may use
  // `node` while sums are in flight. Sums within `as_bfloat16` (may be empty) are sent as bfloat16
  // between hosts, and as fp32 within a host. `world` makes all calls that are not sums.
  HierarchicalAllReduce(MpiCommunicator& world, MpiCommunicator& node, Span<float> as_bfloat16);

  std::string name() const override { return inner().name() + " in two levels"; }
  bool is_test_thread_safe() const override { return inner().is_test_thread_safe(); }
  void reset_error_feedback() override;

 private:
  void do_all_reduce(Buffer values, Reduction op) override;
  std::unique_ptr<Request> do_iall_reduce(Buffer values) override;

  // Each stage of the pipeline has a communicator of its own.
  MpiCommunicator& up_;
  MpiCommunicator down_;
  MpiCommunicator leaders_;  // on other ranks: the ranks that are not leaders
  std::optional<Bf16AllReduce> bf16_;
  Collectives* between_ = nullptr;  // null: not a leader
  Pipeline pipeline_;
};

}  // namespace tandem::comm
