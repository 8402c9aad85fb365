// An all-reduce in two levels, in host memory: within each host, then between hosts. Owns the
// communicators that it makes; the others must outlive it. All ranks of a chunk get the same
// result, so all end with the same bits. The order of additions depends on the hosts.
//
// Gradients that the ranks of a host share: rank r of each host adds chunk r of all of its host's
// arrays, all-reduces it with the ranks r of the other hosts, and writes it into all arrays of its
// host (DPML: Bayatpour et al., "Scalable Reduction Collectives with Data Partitioning-based
// Multi-Leader Design", SC 2017). There are as many chunks as the smallest host has ranks; other
// ranks add none. Each link carries the minimum, 2 (hosts - 1) / hosts of the bytes.
// Other values: a reduce to one rank of each host, an all-reduce between those, and a broadcast.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bf16_all_reduce.hpp"
#include "pipeline.hpp"
#include "shared_floats.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {

class HierarchicalAllReduce final : public ForwardingCollectives {
 public:
  // Collective. `node`: the ranks of this host. Nothing else may use it while sums are in flight.
  // `shared`, made by `node`, may be null, on all ranks alike. Sums within `as_bfloat16` (may be
  // empty) are sent as bfloat16 between hosts; within a host they are fp32. `world` makes all calls
  // that are not sums.
  HierarchicalAllReduce(MpiCommunicator& world, MpiCommunicator& node, Span<float> as_bfloat16,
                        std::shared_ptr<SharedFloats> shared = nullptr);

  std::string name() const override { return inner().name() + " in two levels"; }
  bool is_test_thread_safe() const override { return inner().is_test_thread_safe(); }
  void reset_error_feedback() override;

 private:
  bool is_shared(Buffer values) const;
  bool is_leader() const { return up_.rank() == 0; }
  std::unique_ptr<Request> start_shared(Span<float> values);

  void do_all_reduce(Buffer values) override;
  std::unique_ptr<Request> do_iall_reduce(Buffer values) override;

  const std::shared_ptr<SharedFloats> shared_;
  const int chunks_;  // the ranks of the smallest host
  // Each stage of the pipeline has a communicator of its own.
  MpiCommunicator& up_;
  MpiCommunicator down_;
  MpiCommunicator between_;  // the ranks of all hosts with this chunk; or all without a chunk
  std::optional<Bf16AllReduce> bf16_;
  Collectives* sums_ = nullptr;  // over between_; null: this rank has no chunk
  Pipeline pipeline_;
};

}  // namespace tandem::comm
