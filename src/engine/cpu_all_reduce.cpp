#include "cpu_all_reduce.hpp"

namespace tandem::app {
namespace {

// Collective. Whether some host has several ranks, and the ranks of each follow each other: then of
// the hops of a ring few are over links.
bool suits_ring(Job& job) {
  const std::int64_t rank = job.world.rank();
  const auto first = job.node.all_reduce_value(rank, comm::Reduction::kMin);
  const auto last = job.node.all_reduce_value(rank, comm::Reduction::kMax);
  const std::int64_t follow_each_other = last - first + 1 == job.node.size() ? 1 : 0;
  const auto most =
      job.world.all_reduce_value<std::int64_t>(job.node.size(), comm::Reduction::kMax);
  return job.world.all_reduce_value(follow_each_other, comm::Reduction::kMin) == 1 && most > 1;
}

}  // namespace

CpuAllReduce::CpuAllReduce(Job& job, Span<float> gradients, comm::AllReduceAlgorithm algorithm,
                           bool as_bf16)
    : top_(&job.world) {
  const bool has_levels = algorithm == comm::AllReduceAlgorithm::kTwoLevel;
  const bool is_leader = job.node.rank() == 0;
  const int ranks = job.world.size();
  if (!has_levels && !as_bf16 && ranks > 1 && ranks <= comm::DeterministicAllReduce::kMaxRanks) {
    const bool is_one_host = job.node.size() == ranks;
    if (is_one_host && gradients.size() > 0) {
      shared_memory_ = comm::SharedFloats::make(job.world, gradients.size());
    } else if (!is_one_host) {
      job.world.use_ring_all_reduce(suits_ring(job));
    }
    top_ = &deterministic_.emplace(job.world, shared_memory_.get());
    return;
  }
  comm::MpiCommunicator* between = &job.world;
  if (has_levels) {
    down_.emplace(job.node.duplicate());
    leaders_.emplace(job.world.split(is_leader ? 0 : 1));
    between = &*leaders_;
  }
  comm::Collectives* inner = between;
  if (as_bf16) {
    scatter_.emplace(between->duplicate());
    gather_.emplace(between->duplicate());
    // Only between hosts: within a host bf16 would save no link.
    const Span<float> of_this_rank = has_levels && !is_leader ? Span<float>() : gradients;
    inner = &bf16_.emplace(*between, *scatter_, *gather_, of_this_rank);
  }
  top_ = inner;
  if (has_levels) {
    top_ = &hierarchical_.emplace(job.world, job.node, *down_, is_leader ? inner : nullptr);
  }
}

void CpuAllReduce::reset_error_feedback() {
  if (bf16_) bf16_->reset_error_feedback();
}

}  // namespace tandem::app
