// The ranks of a job with their hosts, devices and threads, as tables for people and for files.
#pragma once

#include <string>
#include <vector>

#include "job.hpp"

namespace tandem::app {

// In rank order.
struct RankTable {
  std::vector<comm::Topology> ranks;
  std::vector<int> threads;
  std::vector<std::string> devices;
};
// Collective. Complete on rank 0 alone. `devices`: of every rank, on rank 0.
RankTable make_rank_table(Job& job, int threads, const std::vector<std::string>& devices);

// A row for each rank.
std::string full_rank_table(const RankTable& table);
// For the console: ranks in a row that differ only in their numbers share a line, and after 16
// lines the rest is counted.
std::string brief_rank_table(const RankTable& table);

}  // namespace tandem::app
