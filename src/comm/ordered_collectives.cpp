#include "tandem/comm/ordered_collectives.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "parted_sum.hpp"
#include "tandem/comm/with_values.hpp"

namespace tandem::comm {

static_assert(OrderedCollectives::kMostRanks <= kMostRanksOfPartedSum,
              "sums that are started must be ours, which add in the order of SumParts");

std::string OrderedCollectives::name() const {
  return floats_ != nullptr ? world_.name() + " in shared memory" : world_.name();
}

void OrderedCollectives::do_all_reduce(void* data, std::size_t count, DataType type, Reduction op) {
  if (type != DataType::kFloat32 || op != Reduction::kSum || count < kFewFloats) {
    with_values(data, count, type, [&](auto values) { world_.all_reduce(values, op); });
    return;
  }
  const Span<float> values(static_cast<float*>(data), count);
  const bool is_shared = floats_ != nullptr && floats_->has(values);
  std::vector<std::unique_ptr<Pending>> under_way;
  for (std::size_t at = 0; at < count; at += kFloatsOfPiece) {
    const Span<float> piece = values.subspan(at, std::min(kFloatsOfPiece, count - at));
    if (is_shared) {
      floats_->sum(world_, piece);
    } else {
      under_way.push_back(world_.start_all_reduce(piece));
    }
  }
  // All of them, because each goes on with a call of its own alone.
  const auto has_ended = [](const std::unique_ptr<Pending>& piece) { return piece->test(); };
  while (std::count_if(under_way.begin(), under_way.end(), has_ended) <
         static_cast<std::ptrdiff_t>(under_way.size())) {
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
