#include "tandem/comm/topology.hpp"

#include <gtest/gtest.h>

namespace tandem::comm {
namespace {

int threads_of(int cpus, int cpu_sharers, double limit, int limit_sharers) {
  Topology topology;
  topology.allowed_cpus = cpus;
  topology.cpu_sharers = cpu_sharers;
  topology.cpu_limit = limit;
  topology.limit_sharers = limit_sharers;
  return topology.default_threads();
}

TEST(DefaultThreads, AreTheRanksShareOfItsMaskAndOfItsGroupsLimit) {
  EXPECT_EQ(threads_of(64, 1, 0, 1), 64);
  EXPECT_EQ(threads_of(64, 4, 0, 4), 16);
  EXPECT_EQ(threads_of(64, 4, 8, 4), 2) << "four ranks in a container of 8 CPUs";
  EXPECT_EQ(threads_of(64, 4, 8, 1), 8) << "each in a container of its own";
  EXPECT_EQ(threads_of(1, 1, 8, 4), 1) << "bound to a core";
  EXPECT_EQ(threads_of(64, 1, 2.5, 1), 2);
  EXPECT_EQ(threads_of(64, 4, 2.5, 4), 1);
}

}  // namespace
}  // namespace tandem::comm
