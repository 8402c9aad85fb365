// Autocast around a forward pass: bfloat16 or, on GPUs, float16 with fp32 master weights. A scope
// owns the calling thread's autocast state while it lives, and stays on its thread.
#pragma once

#include "tandem/model/precision.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {

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
