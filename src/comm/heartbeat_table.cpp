#include "tandem/comm/heartbeat_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "heartbeat_relay.hpp"

namespace tandem::comm {

// A line of the cache each, so that ranks do not slow each other down.
struct alignas(64) HeartbeatTable::Row {
  std::atomic<std::int32_t> table{-1};
  std::atomic<std::int32_t> process{0};
  std::atomic<std::uint64_t> step{0};
  std::atomic<std::uint32_t> phase{0};
  std::atomic<std::uint64_t> reports{0};
  std::atomic<std::uint64_t> beats{0};
  std::atomic<std::int32_t> end_code{0};
};

HeartbeatTable::HeartbeatTable(MpiCommunicator& world, MpiCommunicator& node,
                               const Topology& topology)
    : rank_(topology.rank),
      world_(topology.world),
      memory_(world, node, sizeof(Row) * static_cast<std::size_t>(world_) + alignof(Row)),
      relay_(std::make_unique<HeartbeatRelay>(world, memory_.fills())) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");
  // Every rank of the host sees the same offset: pages are mapped at multiples of their size.
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  const std::size_t padding = (alignof(Row) - address % alignof(Row)) % alignof(Row);
  auto* bytes = memory_.data() + padding;
  if (memory_.fills()) {
    for (int rank = 0; rank < world_; ++rank) {
      new (bytes + static_cast<std::size_t>(rank) * sizeof(Row)) Row;
    }
  }
  node.barrier();  // then all rows exist
  rows_ = std::launder(reinterpret_cast<Row*>(bytes));

  // Which ranks share a table is known by the lowest of them.
  std::int64_t lowest = rank_;
  if (memory_.shared()) node.broadcast(Span<std::int64_t>(&lowest, 1));
  const std::vector<std::int64_t> tables = world.all_gather(lowest);
  if (memory_.fills()) {
    for (int rank = 0; rank < world_; ++rank) {
      rows_[rank].table = static_cast<std::int32_t>(tables[static_cast<std::size_t>(rank)]);
    }
  }
  rows_[rank_].process = ::getpid();
  node.barrier();  // then all rows are complete
}

HeartbeatTable::~HeartbeatTable() {
  if (relay_) relay_->abandon();
}

void HeartbeatTable::report(std::uint64_t step, Phase phase) {
  Row& mine = rows_[rank_];
  mine.step.store(step, std::memory_order_relaxed);
  mine.phase.store(static_cast<std::uint32_t>(phase), std::memory_order_relaxed);
  touch();
}

void HeartbeatTable::touch() { rows_[rank_].reports.fetch_add(1, std::memory_order_relaxed); }

void HeartbeatTable::enter(Phase phase) { report(rows_[rank_].step, phase); }

void HeartbeatTable::leave_mpi() {
  sees_host_only_ = true;
  relay_.reset();
}

void HeartbeatTable::beat() { rows_[rank_].beats.fetch_add(1, std::memory_order_relaxed); }

void HeartbeatTable::announce_end(ExitCode code) {
  rows_[rank_].end_code = static_cast<std::int32_t>(code);
}

void HeartbeatTable::exchange() {
  if (!relay_->has_peers()) return;
  relay_->receive([this](const HeartbeatRelay::Message& message) {
    for (std::size_t at = 0; at + sizeof(RankStatus) <= message.size(); at += sizeof(RankStatus)) {
      RankStatus view;
      std::memcpy(&view, message.data() + at, sizeof view);
      if (view.rank < 0 || view.rank >= world_) continue;
      Row& row = rows_[view.rank];
      row.process = view.process;
      row.step = view.step;
      row.phase = static_cast<std::uint32_t>(view.phase);
      row.reports = view.reports;
      row.beats = view.beats;
      row.end_code = view.end_code;
    }
  });
  HeartbeatRelay::Message message;
  for (const RankStatus& view : view()) {
    if (view.table != rows_[rank_].table) continue;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&view);
    message.insert(message.end(), bytes, bytes + sizeof view);
  }
  relay_->send(message);
}

std::vector<RankStatus> HeartbeatTable::view() const {
  std::vector<RankStatus> ranks;
  for (int rank = 0; rank < world_; ++rank) {
    const Row& row = rows_[rank];
    ranks.push_back({rank, row.table, row.process, row.step, static_cast<Phase>(row.phase.load()),
                     row.reports, row.beats, row.end_code});
    const bool is_out_of_sight = sees_host_only_ && row.table != rows_[rank_].table;
    if (is_out_of_sight) ranks.back().phase = Phase::kDone;
  }
  return ranks;
}

bool HeartbeatTable::is_host_done() const {
  const std::vector<RankStatus> ranks = view();
  return std::all_of(ranks.begin(), ranks.end(), [this](const RankStatus& rank) {
    return rank.table != rows_[rank_].table || rank.phase == Phase::kDone;
  });
}

}  // namespace tandem::comm
