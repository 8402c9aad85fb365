#include "rank_table.hpp"

#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kMostRows = 16;

bool are_alike(const RankTable& table, std::size_t one, std::size_t other) {
  const comm::Topology& a = table.ranks[one];
  const comm::Topology& b = table.ranks[other];
  return a.host == b.host && a.allowed_cpus == b.allowed_cpus && a.host_cpus == b.host_cpus &&
         table.devices[one] == table.devices[other] && table.threads[one] == table.threads[other];
}

// "3", "0-3"
std::string range_text(int first, int last) {
  return std::to_string(first) + (first == last ? "" : "-" + std::to_string(last));
}

std::vector<std::vector<std::string>> head_row() {
  return {{"rank", "host", "local rank", "device", "cpus", "threads"}};
}

// For the ranks from `first` to `last`, which are alike.
std::vector<std::string> row_of(const RankTable& table, std::size_t first, std::size_t last) {
  const comm::Topology& rank = table.ranks[first];
  return {range_text(rank.rank, table.ranks[last].rank),
          rank.host,
          range_text(rank.local_rank, table.ranks[last].local_rank),
          table.devices[first],
          std::to_string(rank.allowed_cpus) + " of " + std::to_string(rank.host_cpus),
          std::to_string(table.threads[first])};
}

}  // namespace

RankTable make_rank_table(Job& job, int threads, const std::vector<std::string>& devices) {
  return {comm::gather_topology(job.world, job.topology),
          job.world.gather(std::vector<int>{threads}), devices};
}

std::string full_rank_table(const RankTable& table) {
  auto rows = head_row();
  for (std::size_t i = 0; i < table.ranks.size(); ++i) rows.push_back(row_of(table, i, i));
  return format_table(rows);
}

std::string brief_rank_table(const RankTable& table) {
  auto rows = head_row();
  std::size_t shown = 0;
  while (shown < table.ranks.size() && rows.size() <= kMostRows) {
    std::size_t last = shown;
    while (last + 1 < table.ranks.size() && are_alike(table, shown, last + 1)) ++last;
    rows.push_back(row_of(table, shown, last));
    shown = last + 1;
  }
  const std::size_t left = table.ranks.size() - shown;
  if (left == 0) return format_table(rows);
  return format_table(rows) + "\nand " + format_quantity(left, "more rank") +
         "; the run's manifest.json has all";
}

}  // namespace tandem::app
