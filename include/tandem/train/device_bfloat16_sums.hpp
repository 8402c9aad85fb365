// What: sums of a device's gradients that travel as bfloat16, by a carrier that adds such numbers,
// as NCCL does (--grad-dtype bf16 on GPUs).
// Owns: what rounding has taken from each element of the gradients; the carrier must outlive it,
// the gradients' memory is kept. Threads: as Collectives. Throws: as the carrier; what libtorch
// throws.
//
// What a rank's own rounding takes away is added before the next one (see bfloat16_sums.hpp). How
// the carrier rounds while it adds is its own affair: NCCL after each addition.
#pragma once

#include "tandem/comm/collectives.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

class DeviceBfloat16Sums final : public comm::Collectives {
 public:
  // `gradients`: flat, fp32. The carrier takes what is no fp32 sum within them, and of one rank
  // everything.
  DeviceBfloat16Sums(comm::Collectives& carrier, torch::Tensor gradients);

  int rank() const override { return carrier_.rank(); }
  int size() const override { return carrier_.size(); }
  std::string name() const override { return carrier_.name() + " as bfloat16"; }
  bool has_async_progress() const override { return carrier_.has_async_progress(); }
  void check() override { carrier_.check(); }
  // What rounding took away in sums that were only made to measure them.
  void forget_errors();

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

  comm::Collectives& carrier_;
  const torch::Tensor gradients_;
  const torch::Tensor errors_;
};

}  // namespace tandem::train
