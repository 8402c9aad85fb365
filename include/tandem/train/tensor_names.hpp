// Names of the tensors of a checkpoint that are not the network's (snapshot.hpp).
#pragma once

#include <string>

#include "tandem/core/text.hpp"

namespace tandem::train {

constexpr char kOptimizerPrefix[] = "optimizer.";
// Arrays of the compressed all-reduce (power_sgd.hpp), which are no optimizer's.
constexpr char kPowerSgdQ[] = "powersgd_q";
constexpr char kPowerSgdErrors[] = "powersgd_error";

inline std::string optimizer_tensor_name(const std::string& array, const std::string& parameter) {
  return kOptimizerPrefix + array + "." + parameter;
}
inline bool is_optimizer_tensor(const std::string& name) {
  return begins_with(name, kOptimizerPrefix);
}
inline bool is_power_sgd_tensor(const std::string& name) {
  return begins_with(name, optimizer_tensor_name(kPowerSgdQ, "")) ||
         begins_with(name, optimizer_tensor_name(kPowerSgdErrors, ""));
}

}  // namespace tandem::train
