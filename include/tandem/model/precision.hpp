// The arithmetic of the forward pass: fp32, or autocast to bfloat16 or, on GPUs, float16, with fp32
// master weights. An AutocastScope changes the autocast state of its thread while it lives.
// parse_precision() throws UsageError.
#pragma once

#include <string>
#include <vector>

#include "tandem/model/torch_compat.hpp"

namespace tandem::model {

enum class Precision { kFp32, kBf16, kFp16 };

std::vector<std::string> precision_names();
Precision parse_precision(const std::string& name);

// Use it around forward and loss, not backward. kFp32 disables autocast, so scopes nest.
class AutocastScope {
 public:
  explicit AutocastScope(Precision precision, torch::DeviceType device = torch::kCPU);
  // Restores; the outermost scope also drops the cached short copies of weights, which the next
  // update makes stale.
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const torch::DeviceType device_;
  const Autocast before_;
};

}  // namespace tandem::model
