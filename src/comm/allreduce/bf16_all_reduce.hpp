// An all-reduce of gradients in host memory that are sent as bfloat16 and added in fp32
// (--grad-dtype bf16). Owns the communicators that it makes; gradients and `ranks` must outlive it.
//
// Each rank rounds its gradients and sends a chunk to each other rank (all-to-all). The owner of a
// chunk adds in rank order and rounds the sum, and all ranks get it (all-gather). That is half the
// bytes of fp32, one rounding of the sum, and the same bits on all ranks. Error feedback adds each
// rounding error before the next rounding, on the sender's and on the owner's side, so that no
// gradient is lost over the steps (Seide et al., Interspeech 2014; for both sides Tang et al.,
// arXiv 1905.05957).
//
// More than kMaxRanksInLinearRounds ranks would send too many messages. They send partial sums in
// the rounds of circulant_rounds.hpp: as many bytes, about 2 log2(ranks) messages, and log2(ranks)
// roundings of a sum. Each rank rounds each element once and keeps the error in the same way.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "pipeline.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {

// kBySize: the direct form for up to kMaxRanksInLinearRounds ranks.
enum class Bf16Route { kBySize, kCirculant };

class Bf16AllReduce final : public ForwardingCollectives {
 public:
  // Collective. Only fp32 sums within `gradients` over several ranks are sent as bfloat16. `ranks`
  // performs all other calls.
  Bf16AllReduce(MpiCommunicator& ranks, Span<float> gradients,
                Bf16Route route = Bf16Route::kBySize);

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

  void do_all_reduce(Buffer values) override;
  std::unique_ptr<Request> do_iall_reduce(Buffer values) override;

  const bool is_circulant_;
  // Each stage of the pipeline has a communicator of its own.
  MpiCommunicator scatter_;
  MpiCommunicator gather_;
  const Span<float> gradients_;
  struct Free {
    void operator()(float* values) const { std::free(values); }
  };
  // One per gradient, by calloc. Pages that no sum touches take no memory, such as those of other
  // ranks' chunks in a hierarchical all-reduce.
  std::unique_ptr<float, Free> errors_;
  std::vector<std::shared_ptr<Messages>> unused_;  // for reuse
  Pipeline pipeline_;
};

}  // namespace tandem::comm
