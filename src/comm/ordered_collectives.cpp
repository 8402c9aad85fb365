#include "tandem/comm/ordered_collectives.hpp"

#include <cstdint>

#include "parted_sum.hpp"
#include "tandem/comm/with_values.hpp"

namespace tandem::comm {

static_assert(OrderedCollectives::kMostRanks <= kMostRanksOfPartedSum,
              "sums that are started are PartedSums, which add in the order of ranks");

std::string OrderedCollectives::name() const {
  return floats_ != nullptr ? world_.name() + " in shared memory" : world_.name();
}

void OrderedCollectives::do_all_reduce(void* data, std::size_t count, DataType type, Reduction op) {
  if (type != DataType::kFloat32 || op != Reduction::kSum || count < kFewFloats) {
    with_values(data, count, type, [&](auto values) { world_.all_reduce(values, op); });
    return;
  }
  const Span<float> values(static_cast<float*>(data), count);
  if (floats_ != nullptr && floats_->has(values)) {
    floats_->sum(world_, values);
  } else {
    world_.start_all_reduce(values)->wait();
  }
}

std::unique_ptr<Pending> OrderedCollectives::do_start_all_reduce(void* data, std::size_t count,
                                                                 DataType type) {
  return with_values(data, count, type,
                     [&](auto values) { return world_.start_all_reduce(values); });
}

void OrderedCollectives::do_broadcast(void* data, std::size_t bytes, int root) {
  world_.broadcast(Span<std::uint8_t>(static_cast<std::uint8_t*>(data), bytes), root);
}

}  // namespace tandem::comm
