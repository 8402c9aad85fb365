// An all-reduce of a GPU's gradients that are sent as bfloat16, over a transport that adds bfloat16
// values, such as NCCL (--grad-dtype bf16 on GPUs). The transport must outlive it; it keeps the
// gradients' memory alive. Throws what the transport and libtorch throw.
//
// Error feedback adds the rank's own rounding error before the next rounding (bf16_all_reduce.hpp).
// The transport rounds sums in its own way; NCCL rounds after each addition.
#pragma once

#include "tandem/comm/collectives.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

class DeviceBf16AllReduce final : public comm::Collectives {
 public:
  // `gradients`: flat, fp32. `inner` performs all calls that are not fp32 sums within them, and
  // with one rank all calls.
  DeviceBf16AllReduce(comm::Collectives& inner, torch::Tensor gradients);

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return inner_.name() + " as bfloat16"; }
  bool has_async_progress() const override { return inner_.has_async_progress(); }
  void check() override { inner_.check(); }
  // Discards the rounding errors of all-reduces that were made for measurement only.
  void reset_error_feedback();

 private:
  class InFlight;
  bool is_ours(const void* data, comm::DataType type) const;
  // Rounds the values that begin at `data`.
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
