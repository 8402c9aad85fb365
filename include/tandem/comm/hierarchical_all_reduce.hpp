// An all-reduce in two levels, in host memory: a reduce within each host, an all-reduce between the
// leaders of the hosts, and a broadcast within each host. The communicators must outlive it.
//
// All ranks get the leaders' result, so they end with the same bits. MPI chooses the order of
// additions within a host; it is the same each time.
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/pipeline.hpp"

namespace tandem::comm {

class HierarchicalAllReduce final : public ForwardingCollectives {
 public:
  // `up` and `down`: two communicators of the ranks of this host, used for this only; their rank 0
  // is the leader. `leaders`: the communicator of the leaders; nullptr on other ranks. Everything
  // but sums goes through `world`.
  HierarchicalAllReduce(Communicator& world, Communicator& up, Communicator& down,
                        Collectives* leaders);

  std::string name() const override { return inner().name() + " in two levels"; }
  bool is_test_thread_safe() const override { return inner().is_test_thread_safe(); }

 private:
  void do_all_reduce(Buffer values, Reduction op) override;
  std::unique_ptr<Request> do_iall_reduce(Buffer values) override;

  Communicator& up_;
  Communicator& down_;
  Collectives* const leaders_;
  Pipeline pipeline_;
};

}  // namespace tandem::comm
