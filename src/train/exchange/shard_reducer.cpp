#include "tandem/train/shard_reducer.hpp"

#include <algorithm>
#include <utility>

#include "tandem/kernels/cpu_clones.hpp"
#include "tandem/train/replicate.hpp"

namespace tandem::train {
namespace {

TANDEM_CLONES void add_to(float* __restrict sum, const float* __restrict other, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) sum[i] += other[i];
}

}  // namespace

ShardReducer::ShardReducer(ParameterArena& arena, model::Network& network, comm::Communicator& comm,
                           bool shares_buffers)
    : arena_(arena),
      network_(network),
      comm_(comm),
      shares_buffers_(shares_buffers),
      before_(network),
      after_shard_0_(network) {}

std::vector<float> ShardReducer::take_array() {
  if (unused_.empty()) return std::vector<float>(arena_.gradients().size());
  std::vector<float> array = std::move(unused_.back());
  unused_.pop_back();
  return array;
}

void ShardReducer::begin_micro_batch(std::uint64_t shard, std::uint64_t shards, bool) {
  shard_ = shard;
  shards_ = shards;
  arena_.begin_gradients();
  if (shard > 0) return before_.restore();
  if (shards > 1 || !has_shard_0()) before_.keep();
}

void ShardReducer::end_micro_batch() {
  if (has_shard_0() && shard_ == 0 && shards_ > 1) after_shard_0_.keep();
  arena_.complete_gradients();

  const Span<float> mine = arena_.gradients();
  int level = 0;
  while (!waiting_.empty() && waiting_.back().level == level) {
    add_to(mine.data(), waiting_.back().sum.data(), mine.size());
    unused_.push_back(std::move(waiting_.back().sum));
    waiting_.pop_back();
    ++level;
  }
  if (shard_ + 1 == shards_) return;  // the sum of the rank stays in the arena
  Subtree subtree{level, take_array()};
  std::copy(mine.begin(), mine.end(), subtree.sum.begin());
  waiting_.push_back(std::move(subtree));
}

void ShardReducer::finish() {
  const Span<float> mine = arena_.gradients();
  for (int distance = 1; distance < comm_.size(); distance *= 2) {
    std::vector<float> theirs = take_array();
    comm_.sendrecv(comm_.rank() ^ distance, Span<const float>(mine), Span<float>(theirs));
    add_to(mine.data(), theirs.data(), mine.size());
    unused_.push_back(std::move(theirs));
  }
  if (!has_shard_0()) before_.restore();
  if (has_shard_0() && shards_ > 1) after_shard_0_.restore();
  if (shares_buffers_ && comm_.size() > 1) broadcast_buffers(comm_, network_);
}

}  // namespace tandem::train
