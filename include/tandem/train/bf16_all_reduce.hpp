// What: gather of gradients that travel as bfloat16 and are added in fp32, in the host's memory
// (--grad-dtype bf16).
// Owns: what rounding has taken from each element of the gradients, and what is in flight; the
// gradients and the communicators must outlive it. Threads: as Collectives. Throws: as its
// communicators.
//
// Each rank rounds its gradients and sends each other rank a chunk of them (an all-to-all), the
// owner of a chunk adds in the order of the ranks, rounds the sum, and all ranks get it (an
// all-gather): half the bytes of a sum in fp32, one rounding however many ranks there are, and the
// same bits on all of them. What rounding takes away is added before the next rounding, so that
// over steps nothing is lost: the sender's own, and that of a sum on its owner's side (error
// feedback; Seide et al., Interspeech 2014, and for both sides Tang et al., arXiv 1905.05957).
#pragma once

#include <memory>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/pipeline.hpp"

namespace tandem::train {

class Bf16AllReduce final : public comm::Collectives {
 public:
  // `scatter` and `gather`: the same ranks, twice, used for nothing else meanwhile. `inner` takes
  // what is no fp32 sum within `gradients`, and of one rank everything.
  Bf16AllReduce(comm::Collectives& inner, comm::Communicator& scatter, comm::Communicator& gather,
                Span<float> gradients);

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return inner_.name() + " as bfloat16"; }
  bool is_test_thread_safe() const override { return inner_.is_test_thread_safe(); }
  // What rounding took away in gather that were only made to measure them.
  void reset_error_feedback();

 private:
  struct Buffers {
    std::vector<comm::Bfloat16> outgoing;
    std::vector<comm::Bfloat16> incoming;
  };
  bool is_ours(const void* data, comm::DataType type) const;
  float* errors_of(Span<float> values);
  std::unique_ptr<comm::Request> start(Span<float> values);
  void reduce_own_chunk(Span<float> values, Buffers& buffers);

  void do_all_reduce(void* data, std::size_t count, comm::DataType type,
                     comm::Reduction op) override;
  std::unique_ptr<comm::Request> do_iall_reduce(void* data, std::size_t count,
                                                comm::DataType type) override;
  void do_broadcast(void* data, std::size_t bytes, int root) override;

  comm::Collectives& inner_;
  comm::Communicator& scatter_;
  comm::Communicator& gather_;
  const Span<float> gradients_;
  std::vector<float> errors_;                     // of each gradient
  std::vector<std::shared_ptr<Buffers>> unused_;  // to use again
  comm::Pipeline pipeline_;
};

}  // namespace tandem::train
