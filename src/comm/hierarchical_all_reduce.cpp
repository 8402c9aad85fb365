#include "tandem/comm/hierarchical_all_reduce.hpp"

#include "tandem/comm/with_values.hpp"

namespace tandem::comm {
HierarchicalAllReduce::HierarchicalAllReduce(Communicator& world, Communicator& up,
                                             Communicator& down, Collectives* leaders)
    : world_(world), up_(up), down_(down), leaders_(leaders) {}

void HierarchicalAllReduce::do_all_reduce(void* data, std::size_t count, DataType type,
                                          Reduction op) {
  pipeline_.drain();  // at the same place of every rank's program, so that the order is the same
  with_values(data, count, type, [&](auto values) {
    up_.reduce(values, op);
    if (leaders_ != nullptr) leaders_->all_reduce(values, op);
    down_.broadcast(values);
  });
}

std::unique_ptr<Request> HierarchicalAllReduce::do_iall_reduce(void* data, std::size_t count,
                                                               DataType type) {
  return with_values(data, count, type, [&](auto values) {
    return pipeline_.start(
        {[this, values] { return up_.ireduce(values); },
         [this, values] { return leaders_ == nullptr ? nullptr : leaders_->iall_reduce(values); },
         [this, values] { return down_.ibroadcast(values); }});
  });
}

void HierarchicalAllReduce::do_broadcast(void* data, std::size_t bytes, int root) {
  world_.broadcast(Span<std::uint8_t>(static_cast<std::uint8_t*>(data), bytes), root);
}

}  // namespace tandem::comm
