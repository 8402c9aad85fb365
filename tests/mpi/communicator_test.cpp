#include <gtest/gtest.h>

#include "collectives_conformance.hpp"
#include "mpi_handle.hpp"
#include "support/mpi_test.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/topology.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {
namespace {

struct World {
  template <typename T>
  using Memory = HostMemory<T>;
  World() { comm.set_piece(kPiece); }
  Collectives& collectives() { return comm; }
  MpiCommunicator comm = MpiCommunicator::world();
};

struct Self {
  template <typename T>
  using Memory = HostMemory<T>;
  Collectives& collectives() { return comm; }
  MpiCommunicator comm = MpiCommunicator::self();
};

using MpiCases =
    ::testing::Types<Case<World, float>, Case<World, double>, Case<World, std::int64_t>,
                     Case<World, std::uint64_t>, Case<Self, float>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Mpi, Conformance, MpiCases, CaseNumber);

template <typename T>
void expect_least_and_most_of_all() {
  auto comm = MpiCommunicator::world();
  comm.set_piece(kPiece);
  for (const std::size_t size : kSizes) {
    for (const Reduction reduction : {Reduction::kMin, Reduction::kMax}) {
      auto values = from_numbers<T>(numbers_of_rank(size, comm.rank()));
      comm.all_reduce(Span<T>(values), reduction);
      EXPECT_EQ(to_numbers(values), numbers_of_all(size, comm.size(), reduction)) << size;
    }
  }
}

TEST(Communicator, AllReduceFindsTheLeastAndTheMost) {
  expect_least_and_most_of_all<float>();
  expect_least_and_most_of_all<double>();
  expect_least_and_most_of_all<std::int64_t>();
  expect_least_and_most_of_all<std::uint64_t>();
}

TEST(Communicator, BroadcastComesFromTheRoot) {
  auto comm = MpiCommunicator::world();
  comm.set_piece(kPiece);
  for (const int root : {0, comm.size() - 1}) {
    for (const std::size_t size : kSizes) {
      auto values = from_numbers<double>(numbers_of_rank(size, comm.rank()));
      comm.broadcast(Span<double>(values), root);
      EXPECT_EQ(to_numbers(values), numbers_of_rank(size, root)) << size;
    }
  }
}

TEST(Communicator, ReduceFillsRankZeroAlone) {
  auto comm = MpiCommunicator::world();
  comm.set_piece(kPiece);
  const auto mine = from_numbers<double>(numbers_of_rank(201, comm.rank()));
  auto values = mine;
  comm.reduce(Span<double>(values));
  EXPECT_EQ(values,
            comm.rank() == 0 ? from_numbers<double>(numbers_of_all(201, comm.size())) : mine);
}

TEST(Communicator, AStartedReduceFillsRankZero) {
  auto comm = MpiCommunicator::world();
  comm.set_piece(kPiece);
  auto values = from_numbers<float>(numbers_of_rank(201, comm.rank()));
  comm.ireduce(Span<float>(values))->wait();
  if (comm.rank() == 0) {
    EXPECT_EQ(to_numbers(values), numbers_of_all(201, comm.size()));
  }
}

TEST(Communicator, AStartedBroadcastComesFromRankZero) {
  auto comm = MpiCommunicator::world();
  comm.set_piece(kPiece);
  auto values = from_numbers<double>(numbers_of_rank(201, comm.rank()));
  const auto request = comm.ibroadcast(Span<double>(values));
  while (!request->test()) {
  }
  EXPECT_EQ(to_numbers(values), numbers_of_rank(201, 0));
}

// Parts of unequal size, and empty ones; sums that end in another order than they began.
TEST(Communicator, StartedSumsOfAnySizeAreThoseOfAllAlongAnyRoute) {
  auto comm = MpiCommunicator::world();
  comm.set_piece(200'000);
  for (const Route route : {Route::kDirect, Route::kRing, Route::kCirculant, Route::kLibrary}) {
    SCOPED_TRACE(static_cast<int>(route));
    std::vector<std::vector<float>> values;
    for (const std::size_t size : {0, 1, 2, 3, 5, 1001, 300000}) {
      values.push_back(from_numbers<float>(numbers_of_rank(size, comm.rank())));
    }
    std::vector<std::unique_ptr<Request>> requests;
    for (auto& each : values) {
      requests.push_back(comm.iall_reduce_along(route, Span<float>(each)));
    }
    while (!requests.back()->test()) {
    }
    for (const auto& each : requests) each->wait();
    for (const auto& each : values) {
      EXPECT_EQ(to_numbers(each), numbers_of_all(each.size(), comm.size())) << each.size();
    }
  }
}

TEST(Communicator, PartsGoToTheirRanksAndComeTogetherAgain) {
  auto comm = MpiCommunicator::world();
  constexpr std::size_t kPart = 3;
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<Bfloat16> mine(kPart * ranks);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i].bits = static_cast<std::uint16_t>(100 * comm.rank() + static_cast<int>(i));
  }
  std::vector<Bfloat16> theirs(mine.size());
  comm.iall_to_all(Span<const Bfloat16>(mine), Span<Bfloat16>(theirs))->wait();
  const auto own = kPart * static_cast<std::size_t>(comm.rank());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    EXPECT_EQ(theirs[i].bits, 100 * (i / kPart) + own + i % kPart) << i;
  }
  // Every rank now knows only its own part.
  for (std::size_t i = 0; i < kPart; ++i) mine[own + i].bits = static_cast<std::uint16_t>(own + i);
  comm.iall_gather(Span<Bfloat16>(mine))->wait();
  for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_EQ(mine[i].bits, i);
}

TEST(Communicator, RefusesPartsOfUnequalSize) {
  auto comm = MpiCommunicator::world();
  if (comm.size() == 1) return;  // any number is one part
  std::vector<float> values(static_cast<std::size_t>(comm.size()) + 1);
  EXPECT_THROW(comm.iall_gather(Span<float>(values)), InternalError);
}

TEST(Communicator, SplitsByColorAndDuplicates) {
  auto world = MpiCommunicator::world();
  auto part = world.split(world.rank() % 2);
  EXPECT_EQ(part.rank(), world.rank() / 2);
  EXPECT_EQ(part.size(), (world.size() + 1 - world.rank() % 2) / 2);
  auto again = part.duplicate();
  EXPECT_EQ(again.rank(), part.rank());
  EXPECT_EQ(again.all_reduce_value<std::int64_t>(1), part.size());
}

TEST(Communicator, MpiSaysThatItCannotAddBfloat16) {
  auto comm = MpiCommunicator::world();
  Bfloat16 value{};
  EXPECT_THROW(comm.all_reduce(Span<Bfloat16>(&value, 1)), UnavailableError);
  EXPECT_THROW(comm.iall_reduce(Span<Bfloat16>(&value, 1)), UnavailableError);
}

TEST(Communicator, ACallThatMpiRefusesIsNamed) {
  try {
    TANDEM_MPI(MPI_Comm_rank(MPI_COMM_NULL, nullptr));
    FAIL() << "MPI took no communicator for one";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("MPI_Comm_rank failed: ", 0), 0U) << text;
    EXPECT_NE(text.find("communicator_test.cpp:"), std::string::npos) << text;
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

TEST(Communicator, GathersValuesOfUnequalNumber) {
  struct Pair {
    std::int64_t rank;
    double half;
  };
  auto comm = MpiCommunicator::world();
  const Pair mine{comm.rank(), 0.5 * comm.rank()};
  const auto expect_from = [](const Pair& found, std::int64_t rank) {
    EXPECT_EQ(found.rank, rank);
    EXPECT_EQ(found.half, 0.5 * static_cast<double>(rank));
  };
  const std::vector<Pair> all = comm.all_gather(mine);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(comm.size()));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    expect_from(all[rank], static_cast<std::int64_t>(rank));
  }
  // Rank r contributes r values.
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto some = comm.gather(std::vector<Pair>(static_cast<std::size_t>(comm.rank()), mine));
  ASSERT_EQ(some.size(), comm.rank() == 0 ? ranks * (ranks - 1) / 2 : 0);
  auto at = some.begin();
  for (std::int64_t rank = 0; at != some.end(); ++rank) {
    for (std::int64_t i = 0; i < rank; ++i) expect_from(*at++, rank);
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
