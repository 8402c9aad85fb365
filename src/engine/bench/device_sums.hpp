// The sums of bench allreduce in the memory of a GPU, over the collectives between GPUs. Main
// thread. Throws what libtorch and the collectives throw.
#pragma once

#include <memory>

#include "all_reduce_timing.hpp"
#include "tandem/comm/collectives.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::app {

class DeviceSums {
 public:
  // As many values on `device` as `host`, which is the other end of the copies. Both must outlive
  // this object. `as_bf16`: the sums are sent as bfloat16.
  DeviceSums(comm::Collectives& between_gpus, torch::Device device, Span<float> host, bool as_bf16);

  comm::Collectives& collectives() { return rounded_ ? *rounded_ : between_gpus_; }
  SumPlace place();

 private:
  comm::Collectives& between_gpus_;
  const torch::Tensor host_;
  const torch::Tensor values_;
  std::unique_ptr<comm::Collectives> rounded_;
};

}  // namespace tandem::app
