#include <gtest/gtest.h>

#include <numeric>

#include "support/mpi_test.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/topology.hpp"

namespace tandem::comm {
namespace {

template <typename T>
std::vector<T> values_of_rank(std::size_t count, int rank) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>((i % 50) + 3 * rank + 1);
  return values;
}

template <typename T>
class TypedCollectives : public ::testing::Test {};
using NumericTypes = ::testing::Types<float, double, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(TypedCollectives, NumericTypes);

// 0, 1, odd, and more than the piece that buffers are cut into.
constexpr std::size_t kPiece = 100;
constexpr std::size_t kSizes[] = {0, 1, 37, 100, 1001};

TYPED_TEST(TypedCollectives, AllReduceSumsMinsAndMaxes) {
  auto comm = MpiCommunicator::world();
  comm.set_piece(kPiece);
  for (const std::size_t size : kSizes) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMin, Reduction::kMax}) {
      auto values = values_of_rank<TypeParam>(size, comm.rank());
      auto expected = values_of_rank<TypeParam>(size, 0);
      for (int rank = 1; rank < comm.size(); ++rank) {
        const auto other = values_of_rank<TypeParam>(size, rank);
        for (std::size_t i = 0; i < size; ++i) {
          expected[i] = reduction == Reduction::kSum   ? expected[i] + other[i]
                        : reduction == Reduction::kMin ? std::min(expected[i], other[i])
                                                       : std::max(expected[i], other[i]);
        }
      }
      comm.all_reduce(Span<TypeParam>(values), reduction);
      EXPECT_EQ(values, expected) << size;
    }
  }
}

TYPED_TEST(TypedCollectives, StartedSumsFinishInAnyInterleaving) {
  auto comm = MpiCommunicator::world();
  comm.set_piece(kPiece);
  auto first = values_of_rank<TypeParam>(1001, comm.rank());
  auto second = values_of_rank<TypeParam>(37, comm.rank());
  auto blocking = first;
  auto blocking_second = second;
  auto pending_first = comm.start_all_reduce(Span<TypeParam>(first));
  auto pending_second = comm.start_all_reduce(Span<TypeParam>(second));
  comm.all_reduce(Span<TypeParam>(blocking));
  pending_second->wait();
  while (!pending_first->test()) {
  }
  comm.all_reduce(Span<TypeParam>(blocking_second));
  EXPECT_EQ(first, blocking);
  EXPECT_EQ(second, blocking_second);
}

TYPED_TEST(TypedCollectives, ReduceFillsTheRootAlone) {
  auto comm = MpiCommunicator::world();
  comm.set_piece(kPiece);
  const int root = comm.size() - 1;
  const auto mine = values_of_rank<TypeParam>(201, comm.rank());
  auto values = mine;
  auto sums = mine;
  comm.all_reduce(Span<TypeParam>(sums));
  comm.reduce(Span<TypeParam>(values), Reduction::kSum, root);
  EXPECT_EQ(values, comm.rank() == root ? sums : mine);
}

TYPED_TEST(TypedCollectives, BroadcastComesFromTheRoot) {
  auto comm = MpiCommunicator::world();
  comm.set_piece(kPiece);
  for (const int root : {0, comm.size() - 1}) {
    auto values = values_of_rank<TypeParam>(201, comm.rank());
    comm.broadcast(Span<TypeParam>(values), root);
    EXPECT_EQ(values, values_of_rank<TypeParam>(201, root));
  }
}

TEST(Communicator, GathersTextsOfUnequalLength) {
  auto comm = MpiCommunicator::world();
  const auto texts = comm.gather_strings(std::string(static_cast<std::size_t>(comm.rank()), 'x'));
  if (comm.rank() != 0) {
    EXPECT_TRUE(texts.empty());
    return;
  }
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(comm.size()));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    EXPECT_EQ(texts[rank], std::string(rank, 'x'));
  }
}

TEST(Communicator, BroadcastsTexts) {
  auto comm = MpiCommunicator::world();
  EXPECT_EQ(comm.broadcast_string(comm.rank() == 0 ? "of rank 0" : "longer, of another"),
            "of rank 0");
  EXPECT_EQ(comm.broadcast_string(comm.rank() == 0 ? "" : "x"), "");
}

TEST(Topology, CountsTheRanksOfThisHost) {
  auto world = MpiCommunicator::world();
  auto node = world.node();
  const Topology mine = discover_topology(world, node);
  EXPECT_EQ(mine.rank, testing::world_rank());
  EXPECT_EQ(mine.world, testing::world_size());
  // The tests run on one host.
  EXPECT_EQ(mine.local_rank, mine.rank);
  EXPECT_EQ(mine.local_size, mine.world);
  EXPECT_GE(mine.allowed_cpus, 1);
  EXPECT_GE(mine.default_threads(), 1);
  const auto all = gather_topology(world, mine);
  if (mine.rank != 0) return;
  ASSERT_EQ(all.size(), static_cast<std::size_t>(mine.world));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    EXPECT_EQ(all[rank].rank, static_cast<int>(rank));
    EXPECT_EQ(all[rank].host, mine.host);
  }
}

}  // namespace
}  // namespace tandem::comm
