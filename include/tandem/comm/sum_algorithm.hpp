// What: how a sum over all ranks is made, as a configuration says it.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <string>
#include <vector>

namespace tandem::comm {

enum class SumAlgorithm {
  kFlat,      // as MPI does it, which need not know of hosts
  kTwoLevel,  // within each host, between one rank of each, and back
};

// "flat", "two-level", in the order of the enumeration.
std::vector<std::string> sum_algorithm_names();
std::string sum_algorithm_name(SumAlgorithm algorithm);
// One of these names.
SumAlgorithm sum_algorithm_of(const std::string& name);

}  // namespace tandem::comm
