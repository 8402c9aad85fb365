#include "tandem/comm/two_level_collectives.hpp"

#include "tandem/comm/with_values.hpp"

namespace tandem::comm {
TwoLevelCollectives::TwoLevelCollectives(Communicator& world, Communicator& up, Communicator& down,
                                         Collectives* leaders)
    : world_(world), up_(up), down_(down), leaders_(leaders) {}

void TwoLevelCollectives::do_all_reduce(void* data, std::size_t count, DataType type,
                                        Reduction op) {
  pipeline_.drain();  // at the same place of every rank's program, so that the order is the same
  with_values(data, count, type, [&](auto values) {
    up_.reduce(values, op);
    if (leaders_ != nullptr) leaders_->all_reduce(values, op);
    down_.broadcast(values);
  });
}

std::unique_ptr<Pending> TwoLevelCollectives::do_start_all_reduce(void* data, std::size_t count,
                                                                  DataType type) {
  return with_values(data, count, type, [&](auto values) {
    return pipeline_.start({[this, values] { return up_.start_reduce(values); },
                            [this, values] {
                              return leaders_ == nullptr ? nullptr
                                                         : leaders_->start_all_reduce(values);
                            },
                            [this, values] { return down_.start_broadcast(values); }});
  });
}

void TwoLevelCollectives::do_broadcast(void* data, std::size_t bytes, int root) {
  world_.broadcast(Span<std::uint8_t>(static_cast<std::uint8_t*>(data), bytes), root);
}

}  // namespace tandem::comm
