// The values of --sum-algorithm.
#pragma once

#include <string>
#include <vector>

namespace tandem::comm {

enum class SumAlgorithm {
  kFlat,      // over all ranks at once
  kTwoLevel,  // reduce within hosts, all-reduce between hosts, broadcast within hosts
};

// "flat", "two-level", in the order of the enumeration.
std::vector<std::string> sum_algorithm_names();
std::string sum_algorithm_name(SumAlgorithm algorithm);
// The algorithm of one of these names.
SumAlgorithm sum_algorithm_of(const std::string& name);

}  // namespace tandem::comm
