// Sums in memory that the ranks of a host share, and the same sums where they cannot.
#include "tandem/comm/shared_floats.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

#include "support/mpi_test.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/ordered_collectives.hpp"

namespace tandem::comm {
namespace {

// Of no whole line, and more than a rank adds at once.
constexpr std::size_t kCount = 70'003;

// Numbers whose sum rounds, so that its order shows.
float value_of(int rank, std::size_t i) {
  return static_cast<float>(i % 97) * 0.1F + (rank == 1 ? 1e4F : 0.3F * static_cast<float>(rank));
}

float sum_of(int ranks, std::size_t i) {
  float sum = value_of(0, i);
  for (int rank = 1; rank < ranks; ++rank) sum += value_of(rank, i);
  return sum;
}

struct Shared {
  Shared() {
    for (std::size_t i = 0; i < kCount; ++i) floats->mine()[i] = value_of(world.rank(), i);
  }
  MpiCommunicator world = MpiCommunicator::world();
  const std::shared_ptr<SharedFloats> floats = SharedFloats::make(world, kCount);
};

TEST(SharedFloats, StartAsZeros) {
  auto world = MpiCommunicator::world();
  const auto floats = SharedFloats::make(world, kCount);
  ASSERT_NE(floats, nullptr);
  ASSERT_EQ(floats->mine().size(), kCount);
  for (const float value : floats->mine()) ASSERT_EQ(value, 0);
}

TEST(SharedFloats, AddInTheOrderOfRanksAndLeaveTheRest) {
  Shared shared;
  const std::vector<std::pair<std::size_t, std::size_t>> slices{
      {0, 1}, {5, 30}, {50, 0}, {50, 60'000}, {70'002, 1}};
  std::vector<bool> is_summed(kCount, false);
  for (const auto& [first, count] : slices) {
    shared.floats->sum(shared.world, shared.floats->mine().subspan(first, count));
    std::fill_n(is_summed.begin() + static_cast<std::ptrdiff_t>(first), count, true);
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(shared.floats->mine()[i],
              is_summed[i] ? sum_of(shared.world.size(), i) : value_of(shared.world.rank(), i))
        << i;
  }
}

TEST(SharedFloats, AreOfOneRankAlone) {
  auto self = MpiCommunicator::self();
  const auto floats = SharedFloats::make(self, 3);
  floats->mine()[1] = 5;
  floats->sum(self, floats->mine());
  EXPECT_EQ(floats->mine()[1], 5);
}

TEST(SharedFloats, AreOfNoRankWhereOneCannotMakeThem) {
  auto world = MpiCommunicator::world();
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{0, files.rlim_max};
  if (world.rank() == world.size() - 1) setrlimit(RLIMIT_NOFILE, &none);
  const auto floats = SharedFloats::make(world, kCount);
  setrlimit(RLIMIT_NOFILE, &files);
  EXPECT_EQ(floats, nullptr);
}

TEST(OrderedCollectives, GiveTheSameBitsInSharedMemoryAndOutsideOfIt) {
  Shared shared;
  std::vector<float> elsewhere(shared.floats->mine().begin(), shared.floats->mine().end());
  OrderedCollectives(shared.world, shared.floats.get()).all_reduce(shared.floats->mine());
  OrderedCollectives(shared.world, nullptr).all_reduce(Span<float>(elsewhere));
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(shared.floats->mine()[i], sum_of(shared.world.size(), i)) << i;
    ASSERT_EQ(elsewhere[i], shared.floats->mine()[i]) << i;
  }
}

TEST(OrderedCollectives, LeaveTheRestAsItWas) {
  Shared shared;
  OrderedCollectives sums(shared.world, shared.floats.get());
  const int ranks = shared.world.size();
  const std::size_t many = OrderedCollectives::kFewFloats;
  sums.all_reduce(shared.floats->mine().subspan(100, many));
  EXPECT_EQ(shared.floats->mine()[100 + many], value_of(shared.world.rank(), 100 + many));

  std::vector<std::int64_t> most{shared.world.rank()};
  sums.all_reduce(Span<std::int64_t>(most), Reduction::kMax);
  EXPECT_EQ(most[0], ranks - 1);
  const Span<float> head = shared.floats->mine().subspan(0, many);
  std::fill_n(head.data(), head.size(), static_cast<float>(sums.rank()));
  sums.all_reduce(head, Reduction::kMax);
  EXPECT_EQ(head[9], static_cast<float>(ranks - 1));
  std::fill_n(head.data(), head.size(), 2.0F);
  sums.start_all_reduce(head)->wait();
  EXPECT_EQ(head[0], static_cast<float>(2 * ranks));
  head[0] = static_cast<float>(sums.rank());
  sums.broadcast(head, ranks - 1);
  EXPECT_EQ(head[0], static_cast<float>(ranks - 1));
  EXPECT_EQ(sums.size(), ranks);
  EXPECT_EQ(sums.name(), "mpi in shared memory");
  EXPECT_EQ(OrderedCollectives(shared.world, nullptr).name(), "mpi");
}

}  // namespace
}  // namespace tandem::comm
