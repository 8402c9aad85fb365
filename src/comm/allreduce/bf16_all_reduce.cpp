#include "bf16_all_reduce.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "bfloat16_loops.hpp"
#include "chunked_all_reduce.hpp"

namespace tandem::comm {

Bf16AllReduce::Bf16AllReduce(MpiCommunicator& ranks, Span<float> gradients, Bf16Route route)
    : ForwardingCollectives(ranks),
      is_circulant_(route == Bf16Route::kCirculant || ranks.size() > kMaxRanksInLinearRounds),
      scatter_(ranks.duplicate()),
      gather_(ranks.duplicate()),
      gradients_(gradients) {
  reset_error_feedback();
}

void Bf16AllReduce::reset_error_feedback() {
  void* const zeros = std::calloc(std::max<std::size_t>(gradients_.size(), 1), sizeof(float));
  if (zeros == nullptr) throw std::bad_alloc();
  errors_.reset(static_cast<float*>(zeros));
}

bool Bf16AllReduce::is_ours(Buffer values) const {
  return size() > 1 && values.begins_in(gradients_);
}

float* Bf16AllReduce::errors_of(Span<float> values) {
  return errors_.get() + (values.data() - gradients_.data());
}

std::unique_ptr<Request> Bf16AllReduce::start(Span<float> values) {
  if (is_circulant_) return scatter_.iall_reduce_as_bfloat16(values, errors_of(values));
  if (unused_.empty()) unused_.push_back(std::make_shared<Messages>());
  const std::shared_ptr<Messages> messages = std::move(unused_.back());
  unused_.pop_back();
  const auto ranks = static_cast<std::size_t>(size());
  const std::size_t chunk = (values.size() + ranks - 1) / ranks;
  messages->outgoing.resize(chunk * ranks);
  messages->incoming.resize(chunk * ranks);
  const auto round_and_send = [this, values, messages] {
    round_and_keep_error(messages->outgoing.data(), values.data(), errors_of(values),
                         values.size());
    std::fill(messages->outgoing.begin() + static_cast<std::ptrdiff_t>(values.size()),
              messages->outgoing.end(), Bfloat16{0});
    return scatter_.iall_to_all(Span<const Bfloat16>(messages->outgoing),
                                Span<Bfloat16>(messages->incoming));
  };
  const auto reduce_and_share = [this, values, messages] {
    reduce_own_chunk(values, *messages);
    return gather_.iall_gather(Span<Bfloat16>(messages->outgoing));
  };
  const auto take = [this, values, messages]() -> std::unique_ptr<Request> {
    widen(values.data(), messages->outgoing.data(), values.size());
    unused_.push_back(messages);
    return nullptr;
  };
  return pipeline_.start({round_and_send, reduce_and_share, take});
}

// Replaces this rank's chunk in the outgoing buffer by its sum.
void Bf16AllReduce::reduce_own_chunk(Span<float> values, Messages& messages) {
  constexpr std::size_t kBlock = 2048;  // whose sums fit in the first-level cache
  std::array<float, kBlock> sums;
  const std::size_t chunk = messages.outgoing.size() / static_cast<std::size_t>(size());
  const std::size_t first = chunk * static_cast<std::size_t>(rank());
  float* errors = errors_of(values);
  for (std::size_t at = 0; at < chunk && first + at < values.size(); at += kBlock) {
    const std::size_t count = std::min({kBlock, chunk - at, values.size() - first - at});
    widen(sums.data(), messages.incoming.data() + at, count);
    for (std::size_t from = chunk + at; from < messages.incoming.size(); from += chunk) {
      add_widened(sums.data(), messages.incoming.data() + from, count);
    }
    round_and_add_error(messages.outgoing.data() + first + at, sums.data(), errors + first + at,
                        count);
  }
}

void Bf16AllReduce::do_all_reduce(Buffer values) {
  if (is_ours(values)) {
    start(values.floats())->wait();
  } else {
    inner().all_reduce(values);
  }
}

std::unique_ptr<Request> Bf16AllReduce::do_iall_reduce(Buffer values) {
  return is_ours(values) ? start(values.floats()) : inner().iall_reduce(values);
}

}  // namespace tandem::comm
