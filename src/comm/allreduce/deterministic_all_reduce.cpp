#include "deterministic_all_reduce.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tandem::comm {

DeterministicAllReduce::DeterministicAllReduce(MpiCommunicator& world,
                                               std::shared_ptr<SharedFloats> floats, Route route)
    : ForwardingCollectives(world), world_(world), floats_(std::move(floats)), route_(route) {}

std::string DeterministicAllReduce::name() const {
  return floats_ != nullptr ? world_.name() + " in shared memory" : world_.name();
}

void DeterministicAllReduce::do_all_reduce(Buffer buffer) {
  if (buffer.type != DataType::kFloat32 || buffer.size < kMinFloats) {
    world_.all_reduce(buffer);
    return;
  }
  const Span<float> values = buffer.floats();
  const bool is_shared = floats_ != nullptr && buffer.begins_in(floats_->mine());
  std::vector<std::unique_ptr<Request>> requests;
  for (std::size_t at = 0; at < values.size(); at += kFloatsPerPiece) {
    const Span<float> piece = values.subspan(at, std::min(kFloatsPerPiece, values.size() - at));
    if (is_shared) {
      floats_->sum(world_, piece);
    } else {
      requests.push_back(iall_reduce(piece));
    }
  }
  while (!test_all(requests)) {
  }
}

std::unique_ptr<Request> DeterministicAllReduce::do_iall_reduce(Buffer values) {
  return world_.iall_reduce_along(route_, values);
}

}  // namespace tandem::comm
