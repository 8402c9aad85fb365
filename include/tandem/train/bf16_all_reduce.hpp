// An all-reduce of gradients in host memory that are sent as bfloat16 and added in fp32
// (--grad-dtype bf16). Gradients and communicators must outlive it.
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

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/pipeline.hpp"

namespace tandem::train {

class Bf16AllReduce final : public comm::ForwardingCollectives {
 public:
  // `scatter` and `gather`: two communicators of the same ranks, used for this only. `inner`
  // performs all calls that are not fp32 sums within `gradients`, and with one rank all calls.
  Bf16AllReduce(comm::Collectives& inner, comm::Communicator& scatter, comm::Communicator& gather,
                Span<float> gradients);

  std::string name() const override { return inner().name() + " as bfloat16"; }
  bool is_test_thread_safe() const override { return inner().is_test_thread_safe(); }
  // Discards the rounding errors of all-reduces that were made for measurement only.
  void reset_error_feedback();

 private:
  struct Buffers {
    std::vector<comm::Bfloat16> outgoing;
    std::vector<comm::Bfloat16> incoming;
  };
  bool is_ours(comm::Buffer values) const;
  float* errors_of(Span<float> values);
  std::unique_ptr<comm::Request> start(Span<float> values);
  void reduce_own_chunk(Span<float> values, Buffers& buffers);

  void do_all_reduce(comm::Buffer values, comm::Reduction op) override;
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer values) override;

  comm::Communicator& scatter_;
  comm::Communicator& gather_;
  const Span<float> gradients_;
  std::vector<float> errors_;                     // one per gradient
  std::vector<std::shared_ptr<Buffers>> unused_;  // to use again
  comm::Pipeline pipeline_;
};

}  // namespace tandem::train
