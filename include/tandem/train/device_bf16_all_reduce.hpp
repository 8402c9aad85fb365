// An all-reduce of a GPU's gradients that are sent as bfloat16, over a transport that adds bfloat16
// values, such as NCCL (--grad-dtype bf16 on GPUs). The transport must outlive it; it keeps the
// gradients' memory alive. Throws what the transport and libtorch throw.
//
// Error feedback adds the rank's own rounding error before the next rounding (bf16_all_reduce.hpp).
// The transport rounds sums in its own way; NCCL rounds after each addition.
#pragma once

#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

class DeviceBf16AllReduce final : public comm::ForwardingCollectives {
 public:
  // `gradients`: flat, fp32. `inner` performs all calls that are not fp32 sums within them, and
  // with one rank all calls.
  DeviceBf16AllReduce(comm::Collectives& inner, torch::Tensor gradients);

  std::string name() const override { return inner().name() + " as bfloat16"; }
  bool has_async_progress() const override { return inner().has_async_progress(); }
  // Discards the rounding errors of all-reduces that were made for measurement only.
  void reset_error_feedback() override;

 private:
  bool is_ours(comm::Buffer values) const;
  torch::Tensor gradients_at(comm::Buffer values) const;
  torch::Tensor round(comm::Buffer values);

  void do_all_reduce(comm::Buffer values) override;
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer values) override;

  const torch::Tensor gradients_;
  const torch::Tensor errors_;
};

}  // namespace tandem::train
