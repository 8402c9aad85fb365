#include "tandem/comm/node_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <optional>

#include "support/mpi_test.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/core/kernel_file.hpp"

namespace tandem::comm {
namespace {

constexpr std::size_t kBytes = 1'000'003;

// In effect while it lives, on the last rank only.
class Limit {
 public:
  Limit(const Communicator& world, int resource, rlim_t most)
      : resource_(static_cast<__rlimit_resource>(resource)) {
    if (world.rank() != world.size() - 1) return;
    getrlimit(resource_, &before_.emplace());
    const rlimit limit{most, before_->rlim_max};
    setrlimit(resource_, &limit);
  }
  ~Limit() {
    if (before_) setrlimit(resource_, &*before_);
  }

 private:
  const __rlimit_resource resource_;
  std::optional<rlimit> before_;
};

TEST(NodeMemory, OneRankFillsAndAllRead) {
  auto world = MpiCommunicator::world();
  auto node = world.node();
  const NodeMemory memory(world, node, kBytes);
  EXPECT_TRUE(memory.shared());
  EXPECT_EQ(memory.fills(), node.rank() == 0);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(memory.data()[i], 0) << i;
  world.barrier();
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

TEST(NodeMemory, IsEachRanksOwnWhereOneCannotShare) {
  auto world = MpiCommunicator::world();
  auto node = world.node();
  std::optional<NodeMemory> memory;
  {
    const Limit no_files(world, RLIMIT_NOFILE, 0);
    memory.emplace(world, node, kBytes);
  }
  EXPECT_FALSE(memory->shared());
  EXPECT_TRUE(memory->fills());
  EXPECT_EQ(memory->data()[kBytes - 1], 0);
  memory->data()[7] = static_cast<std::uint8_t>(world.rank() + 1);
  world.barrier();
  EXPECT_EQ(memory->data()[7], world.rank() + 1);
}

TEST(NodeMemory, WithoutMemoryOnOneRankIsAnErrorOfAll) {
  auto world = MpiCommunicator::world();
  auto node = world.node();
  const auto used = field_of(read_kernel_file("/proc/self/status").value_or(""), "VmSize");
  ASSERT_TRUE(used);
  const Limit little(world, RLIMIT_AS, *used + (64 << 20));
  try {
    const NodeMemory memory(world, node, std::size_t{200} << 20);
    FAIL() << "there was memory";
  } catch (const AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnavailable);
    EXPECT_NE(std::string(error.what()).find("no memory for 209.7 MB on this host"),
              std::string::npos)
        << error.what();
  }
}

TEST(NodeMemory, BeyondWhatThereIsIsAnErrorAndNoKill) {
  auto world = MpiCommunicator::world();
  auto node = world.node();
  EXPECT_THROW(NodeMemory(world, node, std::size_t{1} << 46), AgreedError);
}

}  // namespace
}  // namespace tandem::comm
