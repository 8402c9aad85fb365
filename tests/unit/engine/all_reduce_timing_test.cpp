#include "engine/bench/all_reduce_timing.hpp"

#include <gtest/gtest.h>

namespace tandem::app {
namespace {

TEST(AllReduceTiming, SumsGrowByFourUpToTheMost) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes_between(1024, 1024), (Sizes{1024}));
  EXPECT_EQ(sizes_between(4, 64), (Sizes{4, 16, 64}));
  EXPECT_EQ(sizes_between(4, 100), (Sizes{4, 16, 64, 100}));
}

// nccl-tests, doc/PERFORMANCE.md: an all-reduce of S bytes by n ranks in t seconds.
TEST(AllReduceTiming, BandwidthsAreThoseOfNcclTests) {
  EXPECT_EQ(algorithm_bandwidth(1000, 0.5), 2000);
  EXPECT_EQ(bus_bandwidth(1000, 0.5, 4), 2000 * 2 * 3.0 / 4);
  EXPECT_EQ(bus_bandwidth(1000, 0.5, 1), 0);
}

}  // namespace
}  // namespace tandem::app
