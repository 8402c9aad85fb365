#include "tandem/comm/sum_algorithm.hpp"

namespace tandem::comm {

std::string sum_algorithm_name(SumAlgorithm algorithm) {
  return algorithm == SumAlgorithm::kTwoLevel ? "two-level" : "flat";
}

}  // namespace tandem::comm
