// The ranks of a test under mpirun.
#pragma once

#include <gtest/gtest.h>

namespace tandem::testing {

// Of MPI_COMM_WORLD.
int world_rank();
int world_size();

}  // namespace tandem::testing

// Fails the test, rather than skipping it, where there are fewer ranks: register its program for
// enough of them.
#define REQUIRE_RANKS(count)                          \
  ASSERT_GE(::tandem::testing::world_size(), (count)) \
      << "this test needs at least " << (count) << " ranks; see RANKS in the CMakeLists.txt"
