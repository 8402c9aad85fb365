// What: sums that are made within each host first, then between one rank of each host, its leader,
// and then told within each host. For host memory.
// Owns: what is in flight; the communicators must outlive it. Threads: as Collectives. Throws: as
// its communicators.
//
// MPI adds within a host in an order of its own, which is the same each time, as in a flat sum; the
// leaders hand out what they have, so that all ranks end with the same bits.
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/pipeline.hpp"

namespace tandem::comm {

class HierarchicalAllReduce final : public Collectives {
 public:
  // `up` and `down`: the ranks of this host, twice, used for nothing else meanwhile; their rank 0
  // is the leader. `leaders`: the leaders' own, on others nullptr. `world` carries what is no sum.
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
