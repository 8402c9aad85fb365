#include "tandem/comm/node_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "support/mpi_test.hpp"

namespace tandem::comm {
namespace {

TEST(NodeMemory, OneRankFillsAndAllRead) {
  auto world = MpiCommunicator::world();
  auto node = world.node();
  constexpr std::size_t kBytes = 1'000'003;
  const NodeMemory memory(world, node, kBytes);
  EXPECT_TRUE(memory.shared());
  EXPECT_EQ(memory.fills(), node.rank() == 0);
  if (memory.fills()) std::memset(memory.data(), 0x5A, kBytes);
  world.barrier();
  EXPECT_EQ(memory.data()[0], 0x5A);
  EXPECT_EQ(memory.data()[kBytes - 1], 0x5A);
  world.barrier();
  // It is one memory: what the last rank writes, the first one sees.
  if (world.rank() == world.size() - 1) memory.data()[7] = 0x33;
  world.barrier();
  EXPECT_EQ(memory.data()[7], 0x33);
}

}  // namespace
}  // namespace tandem::comm
