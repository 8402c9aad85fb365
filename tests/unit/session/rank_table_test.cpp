#include "session/rank_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tandem::app {
namespace {

RankTable table_of(const std::vector<std::string>& hosts) {
  RankTable table;
  for (const std::string& host : hosts) {
    comm::Topology rank;
    rank.rank = static_cast<int>(table.ranks.size());
    rank.local_rank = table.ranks.empty() || table.ranks.back().host != host
                          ? 0
                          : table.ranks.back().local_rank + 1;
    rank.host = host;
    rank.allowed_cpus = 2;
    rank.host_cpus = 4;
    table.ranks.push_back(rank);
    table.threads.push_back(1);
    table.devices.emplace_back("cpu");
  }
  return table;
}

TEST(BriefRankTable, HasOneRowForRanksThatAreAlike) {
  RankTable table = table_of({"n1", "n1", "n2", "n2"});
  table.devices[3] = "cuda:0";
  EXPECT_EQ(brief_rank_table(table),
            "rank  host  local rank  device  cpus    threads\n"
            "0-1   n1    0-1         cpu     2 of 4  1\n"
            "2     n2    0           cpu     2 of 4  1\n"
            "3     n2    1           cuda:0  2 of 4  1");
}

TEST(BriefRankTable, IsCutWhereRanksDiffer) {
  RankTable table = table_of(std::vector<std::string>(20, "n1"));
  for (int rank = 0; rank < 20; ++rank) {
    table.threads[static_cast<std::size_t>(rank)] = rank + 1;
  }
  const std::string text = brief_rank_table(table);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 17) << text;
  EXPECT_NE(text.find("\n15    n1"), std::string::npos) << text;
  EXPECT_NE(text.find("\nand 4 more ranks; the run's manifest.json has all"), std::string::npos);
}

TEST(FullRankTable, HasARowForEachRank) {
  EXPECT_EQ(full_rank_table(table_of({"n1", "n1"})),
            "rank  host  local rank  device  cpus    threads\n"
            "0     n1    0           cpu     2 of 4  1\n"
            "1     n1    1           cpu     2 of 4  1");
}

}  // namespace
}  // namespace tandem::app
