// Builds the all-reduce of gradients in host memory: deterministic (in shared memory if the job has
// one host), hierarchical, bf16, or hierarchical and bf16. Owns the communicators for it; job and
// gradients must outlive it. Throws InternalError.
#pragma once

#include <memory>
#include <optional>

#include "job.hpp"
#include "tandem/comm/all_reduce_algorithm.hpp"
#include "tandem/comm/deterministic_all_reduce.hpp"
#include "tandem/comm/hierarchical_all_reduce.hpp"
#include "tandem/train/bf16_all_reduce.hpp"

namespace tandem::app {

class CpuAllReduce {
 public:
  // Collective. fp32 sums within `gradients` use all features; other calls are not sent as
  // bfloat16.
  CpuAllReduce(Job& job, Span<float> gradients, comm::AllReduceAlgorithm algorithm, bool as_bf16);
  CpuAllReduce(const CpuAllReduce&) = delete;
  CpuAllReduce& operator=(const CpuAllReduce&) = delete;

  comm::Collectives& collectives() { return *top_; }
  // Shared memory for the gradients, of their size; null: they stay where they are.
  const std::shared_ptr<comm::SharedFloats>& shared_memory() const { return shared_memory_; }
  // Call it after all-reduces that were made for measurement only.
  void reset_error_feedback();

 private:
  std::optional<comm::MpiCommunicator> down_;
  std::optional<comm::MpiCommunicator> leaders_;
  std::optional<comm::MpiCommunicator> scatter_;
  std::optional<comm::MpiCommunicator> gather_;
  std::optional<train::Bf16AllReduce> bf16_;
  std::optional<comm::HierarchicalAllReduce> hierarchical_;
  std::shared_ptr<comm::SharedFloats> shared_memory_;
  std::optional<comm::DeterministicAllReduce> deterministic_;
  comm::Collectives* top_;
};

}  // namespace tandem::app
