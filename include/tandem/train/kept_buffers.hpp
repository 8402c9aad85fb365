// A copy of the network's buffers, such as BatchNorm's statistics, from before a step. The forward
// passes change the buffers, so a step whose update is skipped must restore them. The network must
// outlive it. Threads: the one that trains. A network without buffers costs nothing.
#pragma once

#include <vector>

#include "tandem/model/network.hpp"

namespace tandem::train {

class KeptBuffers {
 public:
  explicit KeptBuffers(const model::Network& network);

  // Call it before the first forward pass of a step.
  void keep();
  void restore();
  // Calls restore() on a device if `skipped`, a tensor of one element, is not 0. Does not wait for
  // the device.
  void restore_where(const torch::Tensor& skipped);

 private:
  bool keep_at_once(const std::vector<torch::Tensor>& buffers);

  const model::Network& network_;
  const bool has_buffers_;
  std::vector<torch::Tensor> kept_;
  torch::Tensor one_;  // a condition that holds
};

}  // namespace tandem::train
