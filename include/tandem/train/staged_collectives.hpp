// Collectives of GPU memory over MPI, through host memory: for ranks that share a GPU, which NCCL
// refuses, and for hosts without NCCL. `host` must outlive it. Throws what `host` throws.
#pragma once

#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

class StagedCollectives final : public comm::ForwardingCollectives {
 public:
  // `device`: that of the buffers; may be the CPU.
  StagedCollectives(comm::Collectives& host, torch::Device device)
      : ForwardingCollectives(host), device_(device) {}
  std::string name() const override { return inner().name() + ", staged through host memory"; }

 private:
  torch::Tensor on_device(comm::Buffer values) const;
  // A copy in page-locked memory, after all that the device was given before.
  torch::Tensor stage(comm::Buffer values) const;

  void do_all_reduce(comm::Buffer values) override;
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer values) override;

  const torch::Device device_;
};

}  // namespace tandem::train
