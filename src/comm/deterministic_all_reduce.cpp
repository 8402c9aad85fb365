#include "tandem/comm/deterministic_all_reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "direct_all_reduce.hpp"
#include "tandem/comm/with_values.hpp"

namespace tandem::comm {

static_assert(DeterministicAllReduce::kMaxRanks <= kMaxRanksOfDirectAllReduce,
              "sums that are started must be ours, which add in the order of ChunkPartition");

std::string DeterministicAllReduce::name() const {
  return floats_ != nullptr ? world_.name() + " in shared memory" : world_.name();
}

void DeterministicAllReduce::do_all_reduce(void* data, std::size_t count, DataType type,
                                           Reduction op) {
  if (type != DataType::kFloat32 || op != Reduction::kSum || count < kMinFloats) {
    with_values(data, count, type, [&](auto values) { world_.all_reduce(values, op); });
    return;
  }
  const Span<float> values(static_cast<float*>(data), count);
  const bool is_shared = floats_ != nullptr && floats_->has(values);
  std::vector<std::unique_ptr<Request>> requests;
  for (std::size_t at = 0; at < count; at += kFloatsPerPiece) {
    const Span<float> piece = values.subspan(at, std::min(kFloatsPerPiece, count - at));
    if (is_shared) {
      floats_->sum(world_, piece);
    } else {
      requests.push_back(world_.iall_reduce(piece));
    }
  }
  // All of them, because each goes on with a call of its own alone.
  const auto has_ended = [](const std::unique_ptr<Request>& piece) { return piece->test(); };
  while (std::count_if(requests.begin(), requests.end(), has_ended) <
         static_cast<std::ptrdiff_t>(requests.size())) {
  }
}

std::unique_ptr<Request> DeterministicAllReduce::do_iall_reduce(void* data, std::size_t count,
                                                                DataType type) {
  return with_values(data, count, type, [&](auto values) { return world_.iall_reduce(values); });
}

void DeterministicAllReduce::do_broadcast(void* data, std::size_t bytes, int root) {
  world_.broadcast(Span<std::uint8_t>(static_cast<std::uint8_t*>(data), bytes), root);
}

}  // namespace tandem::comm
