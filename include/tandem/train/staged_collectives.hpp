// Collectives of GPU memory over MPI, through host memory: for ranks that share a GPU, which NCCL
// refuses, and for hosts without NCCL. `host` must outlive it. Throws what `host` throws.
#pragma once

#include "tandem/comm/collectives.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

class StagedCollectives final : public comm::Collectives {
 public:
  // `device`: that of the buffers; may be the CPU.
  StagedCollectives(comm::Collectives& host, torch::Device device);

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  std::string name() const override { return host_.name() + ", by way of the host"; }
  void check() override { host_.check(); }

 private:
  class InFlight;
  torch::Tensor on_device(void* data, std::size_t bytes) const;
  // A copy in page-locked memory, after all that the device was given before.
  torch::Tensor stage(void* data, std::size_t bytes) const;

  void do_all_reduce(void* data, std::size_t count, comm::DataType type,
                     comm::Reduction op) override;
  std::unique_ptr<comm::Request> do_iall_reduce(void* data, std::size_t count,
                                                comm::DataType type) override;
  void do_broadcast(void* data, std::size_t bytes, int root) override;

  comm::Collectives& host_;
  const torch::Device device_;
};

}  // namespace tandem::train
