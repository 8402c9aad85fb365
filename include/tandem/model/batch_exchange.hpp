// What ranks exchange for the statistics of batch normalization over the images of all ranks
// (--sync-bn). One thread. Throws what the collective throws.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tandem/model/network.hpp"

namespace tandem::model {

// All messages have one size, so a rank without images takes part and needs no layer sizes.
class BatchExchange {
 public:
  // A collective that returns the values of all ranks in rank order. `mine` has the same size on
  // each rank.
  using Gather = std::function<std::vector<double>(const std::vector<double>& mine)>;

  // `layers`: number of batch normalizations in a step, in each direction. `values`: the largest
  // number of values that one of them sends.
  BatchExchange(Gather gather, std::size_t layers, std::size_t values)
      : gather_(std::move(gather)), layers_(layers), values_(values) {}

  // Collective. Returns the numbers of each rank, in rank order. `mine`: at most `values` of them.
  std::vector<std::vector<double>> all(const std::vector<double>& mine) const;
  // Collective. A rank without images calls it in place of the forward and backward pass.
  void take_part_without_images() const;

 private:
  const Gather gather_;
  const std::size_t layers_, values_;
};

// From now on all batch normalizations of the network that are in training mode use the statistics
// of all ranks. Null if it has none.
std::shared_ptr<BatchExchange> synchronize_norms(Network& network, BatchExchange::Gather gather);

}  // namespace tandem::model
