#include "tandem/train/bf16_all_reduce.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "bfloat16_loops.hpp"

namespace tandem::train {

using comm::Bfloat16;

Bf16AllReduce::Bf16AllReduce(comm::Collectives& inner, comm::Communicator& scatter,
                             comm::Communicator& gather, Span<float> gradients)
    : ForwardingCollectives(inner),
      scatter_(scatter),
      gather_(gather),
      gradients_(gradients),
      errors_(gradients.size(), 0.0F) {}

void Bf16AllReduce::reset_error_feedback() { std::fill(errors_.begin(), errors_.end(), 0.0F); }

bool Bf16AllReduce::is_ours(comm::Buffer values) const {
  return size() > 1 && values.begins_in(gradients_);
}

float* Bf16AllReduce::errors_of(Span<float> values) {
  return errors_.data() + (values.data() - gradients_.data());
}

std::unique_ptr<comm::Request> Bf16AllReduce::start(Span<float> values) {
  if (unused_.empty()) unused_.push_back(std::make_shared<Buffers>());
  const std::shared_ptr<Buffers> buffers = std::move(unused_.back());
  unused_.pop_back();
  const auto ranks = static_cast<std::size_t>(size());
  const std::size_t chunk = (values.size() + ranks - 1) / ranks;
  buffers->outgoing.resize(chunk * ranks);
  buffers->incoming.resize(chunk * ranks);
  const auto round_and_send = [this, values, buffers] {
    round_and_keep_error(buffers->outgoing.data(), values.data(), errors_of(values), values.size());
    std::fill(buffers->outgoing.begin() + static_cast<std::ptrdiff_t>(values.size()),
              buffers->outgoing.end(), Bfloat16{0});
    return scatter_.iall_to_all(Span<const Bfloat16>(buffers->outgoing),
                                Span<Bfloat16>(buffers->incoming));
  };
  const auto reduce_and_share = [this, values, buffers] {
    reduce_own_chunk(values, *buffers);
    return gather_.iall_gather(Span<Bfloat16>(buffers->outgoing));
  };
  const auto take = [this, values, buffers]() -> std::unique_ptr<comm::Request> {
    widen(values.data(), buffers->outgoing.data(), values.size());
    unused_.push_back(buffers);
    return nullptr;
  };
  return pipeline_.start({round_and_send, reduce_and_share, take});
}

// Replaces this rank's chunk in the outgoing buffer by its sum.
void Bf16AllReduce::reduce_own_chunk(Span<float> values, Buffers& buffers) {
  constexpr std::size_t kBlock = 2048;  // whose sums fit in the first-level cache
  std::array<float, kBlock> sums;
  const std::size_t chunk = buffers.outgoing.size() / static_cast<std::size_t>(size());
  const std::size_t first = chunk * static_cast<std::size_t>(rank());
  float* errors = errors_of(values);
  for (std::size_t at = 0; at < chunk && first + at < values.size(); at += kBlock) {
    const std::size_t count = std::min({kBlock, chunk - at, values.size() - first - at});
    widen(sums.data(), buffers.incoming.data() + at, count);
    for (std::size_t from = chunk + at; from < buffers.incoming.size(); from += chunk) {
      add_widened(sums.data(), buffers.incoming.data() + from, count);
    }
    round_and_add_error(buffers.outgoing.data() + first + at, sums.data(), errors + first + at,
                        count);
  }
}

void Bf16AllReduce::do_all_reduce(comm::Buffer values, comm::Reduction op) {
  if (is_ours(values) && op == comm::Reduction::kSum) {
    start(values.floats())->wait();
  } else {
    inner().all_reduce(values, op);
  }
}

std::unique_ptr<comm::Request> Bf16AllReduce::do_iall_reduce(comm::Buffer values) {
  return is_ours(values) ? start(values.floats()) : inner().iall_reduce(values);
}

}  // namespace tandem::train
