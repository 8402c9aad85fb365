#include "engine/run/host_load.hpp"

#include <gtest/gtest.h>

namespace tandem::app {
namespace {

RankLoad rank_on(const std::string& host, double own_cores, double busy_cores) {
  RankLoad load;
  load.topology.host = host;
  load.topology.host_cpus = 2;
  load.topology.allowed_cpus = 2;
  load.own_cores = own_cores;
  load.busy_cores = busy_cores;
  return load;
}

TEST(HostLoad, QuietHostsAreNotNamed) {
  EXPECT_EQ(describe_load({rank_on("a", 1, 2.1), rank_on("a", 1, 2.1)}), "");
  // Another program uses a core that no rank needs.
  std::vector<RankLoad> wide{rank_on("a", 1, 20)};
  wide[0].topology.host_cpus = 64;
  EXPECT_EQ(describe_load(wide), "");
}

TEST(HostLoad, BusyHostsAreNamedWithTheSharesOfTheRanks) {
  const std::vector<RankLoad> one{rank_on("a", 0.5, 2), rank_on("a", 0.6, 2)};
  EXPECT_EQ(describe_load(one),
            "\nthe host is busy: other programs use 0.9 of 2 cores; each rank had 0.55 of 1 core");
  EXPECT_NEAR(cores_of_others(one), 0.9, 1e-9);
  const std::vector<RankLoad> two{rank_on("a", 1, 1), rank_on("b", 1, 2)};
  EXPECT_EQ(describe_load(two),
            "\nb is busy: other programs use 1.0 of 2 cores; each rank had 1.00 of 1 core");
  EXPECT_NEAR(cores_of_others(two), 1, 1e-9);
}

TEST(HostLoad, RanksThatShareCoresAreNamed) {
  std::vector<RankLoad> ranks(4, rank_on("a", 0.5, 2));
  for (RankLoad& each : ranks) each.topology.cpu_sharers = 4;
  EXPECT_EQ(describe_load(ranks), "\n4 ranks of 1 thread share 2 cores");
  for (RankLoad& each : ranks) each.topology.allowed_cpus = 4;
  EXPECT_EQ(describe_load(ranks), "");
}

}  // namespace
}  // namespace tandem::app
