// Every test in here fails on purpose; ctest runs them one by one and checks that the harness turns
// red and names the rank.

#include <mpi.h>

#include <stdexcept>

#include "support/mpi_test.hpp"

namespace tandem::testing {
namespace {

bool is_last_rank() { return world_rank() == world_size() - 1; }

TEST(Harness, LastRankFails) {
  EXPECT_FALSE(is_last_rank()) << "deliberate failure of the last rank";
}

TEST(Harness, LastRankThrows) {
  if (is_last_rank()) throw std::runtime_error("deliberate exception");
}

TEST(Harness, LastRankLeavesOthersWaiting) {
  ASSERT_FALSE(is_last_rank()) << "deliberate failure before a barrier";
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Harness, NeedsMoreRanks) { REQUIRE_RANKS(world_size() + 1); }

class HarnessSetUp : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    EXPECT_FALSE(is_last_rank()) << "deliberate failure in SetUpTestSuite";
  }
};

TEST_F(HarnessSetUp, LastRankFails) {}

}  // namespace
}  // namespace tandem::testing
