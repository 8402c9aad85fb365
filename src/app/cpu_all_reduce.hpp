// What: what makes sums of gradients that lie in the host's memory: in one order, whoever carries
// them, in memory that all share where the job is on one host; by way of one rank of each host; as
// bfloat16; or the last two. Module-private. Owns: the communicators for that; the job and the
// gradients must outlive it. Threads: as Collectives. Throws: InternalError.
#pragma once

#include <memory>
#include <optional>

#include "tandem/app/job.hpp"
#include "tandem/comm/deterministic_all_reduce.hpp"
#include "tandem/comm/hierarchical_all_reduce.hpp"
#include "tandem/comm/sum_algorithm.hpp"
#include "tandem/train/bf16_all_reduce.hpp"

namespace tandem::app {

class CpuAllReduce {
 public:
  // Collective. Of fp32 sums within `gradients`; all others are made likewise, but not as bfloat16.
  CpuAllReduce(Job& job, Span<float> gradients, comm::SumAlgorithm algorithm, bool as_bf16);
  CpuAllReduce(const CpuAllReduce&) = delete;
  CpuAllReduce& operator=(const CpuAllReduce&) = delete;

  comm::Collectives& collectives() { return *top_; }
  // Where gradients should lie, as many as there were; nullptr: where they are.
  const std::shared_ptr<comm::SharedFloats>& shared_memory() const { return shared_memory_; }
  // After sums that were only made to measure them.
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
