// What: the arithmetic of the forward pass: fp32, or bfloat16 or, on GPUs, float16 by autocast with
// fp32 master weights.
// Owns: AutocastScope owns the calling thread's autocast state while it lives. Threads: a scope
// stays on its thread. Throws: UsageError from parse_precision.
#pragma once

#include <string>
#include <vector>

#include "tandem/model/torch_compat.hpp"

namespace tandem::model {

enum class Precision { kFp32, kBf16, kFp16 };

std::vector<std::string> precision_names();
Precision parse_precision(const std::string& name);

// Surrounds forward and loss, not backward. With kFp32 it turns autocast off, so scopes nest.
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
