#include "tandem/comm/hierarchical_all_reduce.hpp"

namespace tandem::comm {

HierarchicalAllReduce::HierarchicalAllReduce(Communicator& world, Communicator& up,
                                             Communicator& down, Collectives* leaders)
    : ForwardingCollectives(world), up_(up), down_(down), leaders_(leaders) {}

void HierarchicalAllReduce::do_all_reduce(Buffer values, Reduction op) {
  pipeline_.drain();  // at the same place of every rank's program, so that the order is the same
  up_.reduce(values, op);
  if (leaders_ != nullptr) leaders_->all_reduce(values, op);
  down_.broadcast(values);
}

std::unique_ptr<Request> HierarchicalAllReduce::do_iall_reduce(Buffer values) {
  return pipeline_.start(
      {[this, values] { return up_.ireduce(values); },
       [this, values] { return leaders_ == nullptr ? nullptr : leaders_->iall_reduce(values); },
       [this, values] { return down_.ibroadcast(values); }});
}

}  // namespace tandem::comm
