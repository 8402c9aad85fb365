#include "tandem/comm/sum_algorithm.hpp"

namespace tandem::comm {

std::vector<std::string> sum_algorithm_names() { return {"flat", "two-level"}; }

std::string sum_algorithm_name(SumAlgorithm algorithm) {
  return sum_algorithm_names()[static_cast<std::size_t>(algorithm)];
}

SumAlgorithm sum_algorithm_of(const std::string& name) {
  return name == sum_algorithm_name(SumAlgorithm::kTwoLevel) ? SumAlgorithm::kTwoLevel
                                                             : SumAlgorithm::kFlat;
}

}  // namespace tandem::comm
