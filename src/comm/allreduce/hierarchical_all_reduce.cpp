#include "hierarchical_all_reduce.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "chunk_partition.hpp"

namespace tandem::comm {
namespace {

// Of each chunk in a piece of a blocking sum: one piece is added while another is sent.
constexpr std::size_t kFloatsPerChunk = std::size_t{1} << 19;

int ranks_of_smallest_host(MpiCommunicator& world, const MpiCommunicator& node) {
  return static_cast<int>(
      world.all_reduce_value(static_cast<std::int64_t>(node.size()), Reduction::kMin));
}

}  // namespace

HierarchicalAllReduce::HierarchicalAllReduce(MpiCommunicator& world, MpiCommunicator& node,
                                             Span<float> as_bfloat16,
                                             std::shared_ptr<SharedFloats> shared)
    : ForwardingCollectives(world),
      shared_(std::move(shared)),
      chunks_(shared_ == nullptr ? 1 : ranks_of_smallest_host(world, node)),
      up_(node),
      down_(node.duplicate()),
      between_(world.split(std::min(node.rank(), chunks_))) {
  if (node.rank() >= chunks_) return;
  sums_ = &between_;
  if (!as_bfloat16.empty()) sums_ = &bf16_.emplace(between_, as_bfloat16);
}

void HierarchicalAllReduce::reset_error_feedback() {
  if (bf16_) bf16_->reset_error_feedback();
}

bool HierarchicalAllReduce::is_shared(Buffer values) const {
  return shared_ != nullptr && values.begins_in(shared_->mine());
}

std::unique_ptr<Request> HierarchicalAllReduce::start_shared(Span<float> values) {
  const ChunkPartition chunks(values.size(), chunks_);
  const int rank = up_.rank();
  const Span<float> chunk =
      sums_ == nullptr ? Span<float>() : values.subspan(chunks.first(rank), chunks.size(rank));
  return pipeline_.start({[this] { return up_.ibarrier(); },
                          [this, chunk] {
                            shared_->reduce(chunk);
                            return sums_ == nullptr ? nullptr : sums_->iall_reduce(chunk);
                          },
                          [this, chunk] {
                            shared_->share(chunk);
                            return down_.ibarrier();
                          }});
}

void HierarchicalAllReduce::do_all_reduce(Buffer values) {
  if (is_shared(values)) {
    const std::size_t piece = kFloatsPerChunk * static_cast<std::size_t>(chunks_);
    std::vector<std::unique_ptr<Request>> pieces;
    for (std::size_t at = 0; at < values.size; at += piece) {
      pieces.push_back(
          start_shared(values.floats().subspan(at, std::min(piece, values.size - at))));
    }
    pipeline_.drain();
    return;
  }
  pipeline_.drain();  // at the same place of every rank's program, so that the order is the same
  up_.reduce(values);
  if (is_leader()) sums_->all_reduce(values);
  down_.broadcast(values);
}

std::unique_ptr<Request> HierarchicalAllReduce::do_iall_reduce(Buffer values) {
  if (is_shared(values)) return start_shared(values.floats());
  return pipeline_.start(
      {[this, values] { return up_.ireduce(values); },
       [this, values] { return is_leader() ? sums_->iall_reduce(values) : nullptr; },
       [this, values] { return down_.ibroadcast(values); }});
}

}  // namespace tandem::comm
