#include "hierarchical_all_reduce.hpp"

namespace tandem::comm {

HierarchicalAllReduce::HierarchicalAllReduce(MpiCommunicator& world, MpiCommunicator& node,
                                             Span<float> as_bfloat16)
    : ForwardingCollectives(world),
      up_(node),
      down_(node.duplicate()),
      leaders_(world.split(node.rank() == 0 ? 0 : 1)) {
  if (node.rank() != 0) return;
  between_ = &leaders_;
  if (!as_bfloat16.empty()) between_ = &bf16_.emplace(leaders_, as_bfloat16);
}

void HierarchicalAllReduce::reset_error_feedback() {
  if (bf16_) bf16_->reset_error_feedback();
}

void HierarchicalAllReduce::do_all_reduce(Buffer values, Reduction op) {
  pipeline_.drain();  // at the same place of every rank's program, so that the order is the same
  up_.reduce(values, op);
  if (between_ != nullptr) between_->all_reduce(values, op);
  down_.broadcast(values);
}

std::unique_ptr<Request> HierarchicalAllReduce::do_iall_reduce(Buffer values) {
  return pipeline_.start(
      {[this, values] { return up_.ireduce(values); },
       [this, values] { return between_ == nullptr ? nullptr : between_->iall_reduce(values); },
       [this, values] { return down_.ibroadcast(values); }});
}

}  // namespace tandem::comm
