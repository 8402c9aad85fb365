// An all-reduce in two levels, in host memory: a reduce within each host, an all-reduce between the
// leaders of the hosts, and a broadcast within each host. The communicators must outlive it.
//
// All ranks get the leaders' result, so they end with the same bits. MPI chooses the order of
// additions within a host; it is the same each time.
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/pipeline.hpp"

namespace tandem::comm {

class HierarchicalAllReduce final : public Collectives {
 public:
  // `up` and `down`: two communicators of the ranks of this host, used for this only; their rank 0
  // is the leader. `leaders`: the communicator of the leaders; nullptr on other ranks. Everything
  // but sums goes through `world`.
  HierarchicalAllReduce(Communicator& world, Communicator& up, Communicator& down,
                        Collectives* leaders);

  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  std::string name() const override { return world_.name() + " in two levels"; }
  bool is_test_thread_safe() const override { return world_.is_test_thread_safe(); }

 private:
  void do_all_reduce(void* data, std::size_t count, DataType type, Reduction op) override;
  std::unique_ptr<Request> do_iall_reduce(void* data, std::size_t count, DataType type) override;
  void do_broadcast(void* data, std::size_t bytes, int root) override;

  Communicator& world_;
  Communicator& up_;
  Communicator& down_;
  Collectives* const leaders_;
  Pipeline pipeline_;
};

}  // namespace tandem::comm
