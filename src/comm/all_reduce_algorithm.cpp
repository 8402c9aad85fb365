#include "tandem/comm/all_reduce_algorithm.hpp"

namespace tandem::comm {

std::vector<std::string> all_reduce_algorithm_names() { return {"flat", "two-level"}; }

std::string all_reduce_algorithm_name(AllReduceAlgorithm algorithm) {
  return all_reduce_algorithm_names()[static_cast<std::size_t>(algorithm)];
}

AllReduceAlgorithm all_reduce_algorithm_of(const std::string& name) {
  return name == all_reduce_algorithm_name(AllReduceAlgorithm::kTwoLevel)
             ? AllReduceAlgorithm::kTwoLevel
             : AllReduceAlgorithm::kFlat;
}

}  // namespace tandem::comm
