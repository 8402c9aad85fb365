// What: sums of a device's gradients that travel as bfloat16, by a inner that adds such numbers,
// as NCCL does (--grad-dtype bf16 on GPUs).
// Owns: what rounding has taken from each element of the gradients; the inner must outlive it,
// the gradients' memory is kept. Threads: as Collectives. Throws: as the inner; what libtorch
// throws.
//
// What a rank's own rounding takes away is added before the next one (see bf16_all_reduce.hpp). How
// the inner rounds while it adds is its own affair: NCCL after each addition.
#pragma once

#include "tandem/comm/collectives.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

class DeviceBf16AllReduce final : public comm::Collectives {
 public:
  // `gradients`: flat, fp32. The inner takes what is no fp32 sum within them, and of one rank
  // everything.
  DeviceBf16AllReduce(comm::Collectives& inner, torch::Tensor gradients);

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return inner_.name() + " as bfloat16"; }
  bool has_async_progress() const override { return inner_.has_async_progress(); }
  void check() override { inner_.check(); }
  // What rounding took away in sums that were only made to measure them.
  void reset_error_feedback();

 private:
  class InFlight;
  bool is_ours(const void* data, comm::DataType type) const;
  // The values that begin at `data`, rounded.
  torch::Tensor round(const void* data, std::size_t count);
  torch::Tensor gradients_at(const void* data, std::size_t count) const;

  void do_all_reduce(void* data, std::size_t count, comm::DataType type,
                     comm::Reduction op) override;
  std::unique_ptr<comm::Request> do_iall_reduce(void* data, std::size_t count,
                                                comm::DataType type) override;
  void do_broadcast(void* data, std::size_t bytes, int root) override;

  comm::Collectives& inner_;
  const torch::Tensor gradients_;
  const torch::Tensor errors_;
};

}  // namespace tandem::train
