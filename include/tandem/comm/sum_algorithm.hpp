// What: how a sum over all ranks is made, decided from where they are.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <string>

namespace tandem::comm {

enum class SumAlgorithm {
  kFlat,      // as MPI does it, which need not know of hosts
  kTwoLevel,  // within each host, between one rank of each, and back
};

// Of `ranks` on `hosts`. Two levels where some host has several ranks and there is another host:
// a link between hosts then carries what one rank of a host has to say, and not what each has.
constexpr SumAlgorithm choose_sum_algorithm(int ranks, int hosts) {
  return hosts > 1 && ranks > hosts ? SumAlgorithm::kTwoLevel : SumAlgorithm::kFlat;
}

// "flat", "two-level"
std::string sum_algorithm_name(SumAlgorithm algorithm);

}  // namespace tandem::comm
