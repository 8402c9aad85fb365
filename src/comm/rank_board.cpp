#include "tandem/comm/rank_board.hpp"

#include <unistd.h>

#include <atomic>
#include <new>

namespace tandem::comm {

// A line of the cache each, so that ranks do not slow each other down.
struct alignas(64) RankBoard::Row {
  std::atomic<std::int32_t> rank{0};
  std::atomic<std::int32_t> process{0};
  std::atomic<std::uint64_t> step{0};
  std::atomic<std::uint32_t> phase{0};
  std::atomic<std::uint64_t> reports{0};
  std::atomic<std::uint64_t> beats{0};
};

RankBoard::RankBoard(MpiCommunicator& world, MpiCommunicator& node, const Topology& topology)
    : memory_(world, node,
              sizeof(Row) * static_cast<std::size_t>(topology.local_size) + alignof(Row)) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");
  // Every rank of the host sees the same offset: pages are mapped at multiples of their size.
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  const std::size_t padding = (alignof(Row) - address % alignof(Row)) % alignof(Row);
  auto* table = memory_.data() + padding;
  row_count_ = memory_.shared() ? static_cast<std::size_t>(topology.local_size) : 1;
  const std::size_t row =
      memory_.shared() ? static_cast<std::size_t>(topology.local_rank) : std::size_t{0};
  mine_ = new (table + row * sizeof(Row)) Row;
  mine_->rank = topology.rank;
  mine_->process = ::getpid();
  node.barrier();  // then all rows exist
  rows_ = std::launder(reinterpret_cast<Row*>(table));
}

RankBoard::~RankBoard() = default;

void RankBoard::report(std::uint64_t step, Phase phase) {
  mine_->step.store(step, std::memory_order_relaxed);
  mine_->phase.store(static_cast<std::uint32_t>(phase), std::memory_order_relaxed);
  touch();
}

void RankBoard::touch() { mine_->reports.fetch_add(1, std::memory_order_relaxed); }

void RankBoard::beat() { mine_->beats.fetch_add(1, std::memory_order_relaxed); }

std::vector<RankView> RankBoard::view() const {
  std::vector<RankView> ranks;
  for (std::size_t i = 0; i < row_count_; ++i) {
    const Row& row = rows_[i];
    ranks.push_back({row.rank, row.process, row.step, static_cast<Phase>(row.phase.load()),
                     row.reports, row.beats});
  }
  return ranks;
}

}  // namespace tandem::comm
