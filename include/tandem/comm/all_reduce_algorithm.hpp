// The values of --all-reduce.
#pragma once

#include <string>
#include <vector>

namespace tandem::comm {

enum class AllReduceAlgorithm {
  kFlat,      // over all ranks at once
  kTwoLevel,  // reduce within hosts, all-reduce between hosts, broadcast within hosts
};

// "flat", "two-level", in the order of the enumeration.
std::vector<std::string> all_reduce_algorithm_names();
std::string all_reduce_algorithm_name(AllReduceAlgorithm algorithm);
// The algorithm of one of these names.
AllReduceAlgorithm all_reduce_algorithm_of(const std::string& name);

}  // namespace tandem::comm
