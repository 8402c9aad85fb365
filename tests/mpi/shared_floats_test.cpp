// Sums in memory that the ranks of a host share, and the same sums where they cannot.
#include "allreduce/shared_floats.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "allreduce/deterministic_all_reduce.hpp"
#include "support/circulant_simulation.hpp"
#include "support/mpi_test.hpp"
#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {
namespace {

// Of no whole line, and more than a rank adds at once and than a piece has.
constexpr std::size_t kCount = 600'003;

// Numbers whose sum rounds, so that its order shows.
float value_of(int rank, std::size_t i) {
  constexpr float kScales[] = {0.3333F, 1000.7F, 0.0371F, 17.13F};
  return static_cast<float>(i % 97 + 1) * kScales[rank % 4];
}

// Element i of those that are summed from `first` to `end`. In the order that is promised: of
// parts of whole lines of 16, each begins at the rank after its owner.
float sum_of(int ranks, std::size_t i, std::size_t first = 0, std::size_t end = kCount) {
  const std::size_t lines = (end - first + 15) / 16;
  const std::size_t part =
      16 * ((lines + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks));
  const int owner = static_cast<int>((i - first) / part);
  float sum = value_of((owner + 1) % ranks, i);
  for (int distance = 2; distance <= ranks; ++distance) {
    sum += value_of((owner + distance) % ranks, i);
  }
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

TEST(SharedFloats, AddInTheirOrderAndLeaveTheRest) {
  Shared shared;
  const std::vector<std::pair<std::size_t, std::size_t>> slices{
      {0, 1}, {5, 30}, {50, 0}, {50, 60'000}, {kCount - 1, 1}};
  std::vector<float> expected(shared.floats->mine().begin(), shared.floats->mine().end());
  for (const auto& [first, count] : slices) {
    shared.floats->sum(shared.world, shared.floats->mine().subspan(first, count));
    for (std::size_t i = first; i < first + count; ++i) {
      expected[i] = sum_of(shared.world.size(), i, first, first + count);
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(shared.floats->mine()[i], expected[i]) << i;
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

TEST(DeterministicAllReduce, GiveTheSameBitsHoweverSumsTravel) {
  for (const std::size_t count : {kCount, DeterministicAllReduce::kMinFloats, kCount - 1}) {
    SCOPED_TRACE(count);
    Shared shared;
    const int ranks = shared.world.size();
    const std::vector<float> before(shared.floats->mine().begin(), shared.floats->mine().end());
    DeterministicAllReduce(shared.world, shared.floats, Route::kDirect)
        .all_reduce(shared.floats->mine().subspan(0, count));
    for (const Route route : {Route::kDirect, Route::kRing}) {
      SCOPED_TRACE(route == Route::kRing);
      std::vector<float> elsewhere = before;
      DeterministicAllReduce(shared.world, nullptr, route)
          .all_reduce(Span<float>(elsewhere.data(), count));
      for (std::size_t i = 0; i < kCount; ++i) {
        const std::size_t piece = i - i % DeterministicAllReduce::kFloatsPerPiece;
        const std::size_t end = std::min(count, piece + DeterministicAllReduce::kFloatsPerPiece);
        ASSERT_EQ(elsewhere[i], i < count ? sum_of(ranks, i, piece, end) : before[i]) << i;
        ASSERT_EQ(elsewhere[i], shared.floats->mine()[i]) << i;
      }
    }
  }
}

TEST(DeterministicAllReduce, AddInTheOrderOfTheirRoundsBeyond64Ranks) {
  auto world = MpiCommunicator::world();
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::vector<float>> of_ranks(ranks, std::vector<float>(kCount));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < kCount; ++i) {
      of_ranks[rank][i] = value_of(static_cast<int>(rank), i);
    }
  }
  const auto mine = static_cast<std::size_t>(world.rank());
  std::vector<float> values = of_ranks[mine];
  const ChunkPartition chunks(kCount, world.size());
  testing::simulate_circulant(of_ranks, [&](int chunk) { return chunks.first(chunk); });
  DeterministicAllReduce(world, nullptr, Route::kCirculant)
      .iall_reduce(Span<float>(values))
      ->wait();
  EXPECT_EQ(values, of_ranks[mine]);
  EXPECT_EQ(values, of_ranks[0]) << "another rank has other bits";
}

TEST(DeterministicAllReduce, KeepManySumsApart) {
  for (const Route route : {Route::kRing, Route::kCirculant}) {
    auto world = MpiCommunicator::world();
    DeterministicAllReduce sums(world, nullptr, route);
    std::vector<std::vector<float>> values;
    std::vector<std::unique_ptr<Request>> requests;
    // One is empty, and most have fewer elements than a line per rank.
    for (std::size_t i = 0; i < 40; ++i) {
      values.emplace_back(i, static_cast<float>(world.rank() + 1));
    }
    for (std::vector<float>& each : values) {
      requests.push_back(sums.iall_reduce(Span<float>(each)));
    }
    // Some are asked for first here and last there.
    if (world.rank() % 2 == 0) std::reverse(requests.begin(), requests.end());
    bool are_done = false;
    while (!are_done) {
      are_done = true;
      for (const auto& each : requests) are_done = each->test() && are_done;
    }
    const int ranks = world.size();
    for (const std::vector<float>& each : values) {
      for (const float value : each) EXPECT_EQ(value, static_cast<float>(ranks * (ranks + 1) / 2));
    }
  }
}

TEST(DeterministicAllReduce, LeaveTheRestAsItWas) {
  Shared shared;
  DeterministicAllReduce sums(shared.world, shared.floats, Route::kDirect);
  const int ranks = shared.world.size();
  const std::size_t many = DeterministicAllReduce::kMinFloats;
  sums.all_reduce(shared.floats->mine().subspan(100, many));
  EXPECT_EQ(shared.floats->mine()[100 + many], value_of(shared.world.rank(), 100 + many));

  std::vector<std::int64_t> integers(many, 1);
  sums.all_reduce(Span<std::int64_t>(integers));
  EXPECT_EQ(integers, std::vector<std::int64_t>(many, ranks));
  const Span<float> head = shared.floats->mine().subspan(0, many);
  std::fill_n(head.data(), head.size(), 2.0F);
  sums.iall_reduce(head)->wait();
  EXPECT_EQ(head[0], static_cast<float>(2 * ranks));
  EXPECT_EQ(sums.size(), ranks);
  EXPECT_EQ(sums.name(), "mpi in shared memory");
  EXPECT_EQ(DeterministicAllReduce(shared.world, nullptr, Route::kRing).name(), "mpi");
}

}  // namespace
}  // namespace tandem::comm
