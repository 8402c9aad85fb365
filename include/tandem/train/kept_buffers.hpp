// The buffers of a network, such as BatchNorm's statistics, as they were before a step: the forward
// passes of a step whose update is left out have written into them what must not stay.
// The network must outlive it. Threads: the one that trains. A network without buffers costs
// nothing.
#pragma once

#include <vector>

#include "tandem/model/network.hpp"

namespace tandem::train {

class KeptBuffers {
 public:
  explicit KeptBuffers(const model::Network& network);

  // Before the first forward pass of a step.
  void keep();
  void restore();
  // The same on a device, without waiting for it: where `left_out`, one element, is not 0.
  void restore_where(const torch::Tensor& left_out);

 private:
  const model::Network& network_;
  const bool has_buffers_;
  std::vector<torch::Tensor> kept_;
};

}  // namespace tandem::train
