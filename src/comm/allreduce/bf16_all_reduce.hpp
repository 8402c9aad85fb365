// An all-reduce of gradients in host memory that are sent as bfloat16 and added in fp32
// (--grad-dtype bf16). Owns the communicators that it makes; gradients and `ranks` must outlive it.
//
// Each rank rounds its gradients and sends a chunk to each other rank (all-to-all). The owner of a
// chunk adds in rank order and rounds the sum, and all ranks get it (all-gather). That is half the
// bytes of fp32, one rounding of the sum at any number of ranks, and the same bits on all of them.
// Error feedback adds each rounding error before the next rounding, on the sender's and on the
// owner's side, so that no gradient is lost over the steps (Seide et al., Interspeech 2014; for
// both sides Tang et al., arXiv 1905.05957).
#pragma once

#include <memory>
#include <vector>

#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/pipeline.hpp"

namespace tandem::comm {

class Bf16AllReduce final : public ForwardingCollectives {
 public:
  // Collective. Only fp32 sums within `gradients` over several ranks are sent as bfloat16. `ranks`
  // performs all other calls.
  Bf16AllReduce(MpiCommunicator& ranks, Span<float> gradients);

  std::string name() const override { return inner().name() + " as bfloat16"; }
  bool is_test_thread_safe() const override { return inner().is_test_thread_safe(); }
  void reset_error_feedback() override;

 private:
  struct Messages {
    std::vector<Bfloat16> outgoing;
    std::vector<Bfloat16> incoming;
  };
  bool is_ours(Buffer values) const;
  float* errors_of(Span<float> values);
  std::unique_ptr<Request> start(Span<float> values);
  void reduce_own_chunk(Span<float> values, Messages& messages);

  void do_all_reduce(Buffer values, Reduction op) override;
  std::unique_ptr<Request> do_iall_reduce(Buffer values) override;

  // Each stage of the pipeline has a communicator of its own.
  MpiCommunicator scatter_;
  MpiCommunicator gather_;
  const Span<float> gradients_;
  std::vector<float> errors_;                      // one per gradient
  std::vector<std::shared_ptr<Messages>> unused_;  // for reuse
  Pipeline pipeline_;
};

}  // namespace tandem::comm
