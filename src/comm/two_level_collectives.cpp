#include "tandem/comm/two_level_collectives.hpp"

#include "tandem/core/error.hpp"

namespace tandem::comm {
namespace {

// Calls `work` with the values as what they are.
template <typename Work>
auto with_values(void* data, std::size_t count, DataType type, const Work& work) {
  switch (type) {
    case DataType::kByte:
      return work(Span<std::uint8_t>(static_cast<std::uint8_t*>(data), count));
    case DataType::kFloat32:
      return work(Span<float>(static_cast<float*>(data), count));
    case DataType::kFloat64:
      return work(Span<double>(static_cast<double*>(data), count));
    case DataType::kInt64:
      return work(Span<std::int64_t>(static_cast<std::int64_t*>(data), count));
    case DataType::kUint64:
      return work(Span<std::uint64_t>(static_cast<std::uint64_t*>(data), count));
    case DataType::kBfloat16:
      return work(Span<Bfloat16>(static_cast<Bfloat16*>(data), count));
  }
  throw InternalError("values of no known type were to be summed");
}

}  // namespace

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
