// That sums in two levels are those of one, on hosts of two ranks that are made up of this host's.
#include "allreduce/hierarchical_all_reduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "allreduce/chunk_partition.hpp"
#include "collectives_conformance.hpp"
#include "support/mpi_test.hpp"
#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {
namespace {

struct HierarchicalJob {
  template <typename T>
  using Memory = HostMemory<T>;
  HierarchicalJob() { world.set_piece(kPiece); }
  Collectives& collectives() { return hierarchical; }

  MpiCommunicator world = MpiCommunicator::world();
  MpiCommunicator node = split_into_pairs();
  HierarchicalAllReduce hierarchical{world, node, Span<float>()};

 private:
  MpiCommunicator split_into_pairs() { return world.split(world.rank() / 2); }
};

using Cases =
    ::testing::Types<Case<HierarchicalJob, float>, Case<HierarchicalJob, double>,
                     Case<HierarchicalJob, std::int64_t>, Case<HierarchicalJob, std::uint64_t>>;
INSTANTIATE_TYPED_TEST_SUITE_P(HierarchicalJob, Conformance, Cases, CaseNumber);

TEST(HierarchicalAllReduce, GiveAllRanksTheSameBitsOfASumThatRounds) {
  HierarchicalJob subject;
  const int rank = subject.world.rank();
  std::vector<float> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 1.0F / (1.0F + static_cast<float>(i) + 0.37F * static_cast<float>(rank));
  }
  subject.hierarchical.iall_reduce(Span<float>(values))->wait();
  std::vector<float> least = values;
  std::vector<float> most = values;
  subject.world.all_reduce(Span<float>(least), Reduction::kMin);
  subject.world.all_reduce(Span<float>(most), Reduction::kMax);
  EXPECT_EQ(least, most);
}

TEST(HierarchicalAllReduce, KeepManySumsApartThatAreAskedForUnevenly) {
  HierarchicalJob subject;
  std::vector<std::vector<double>> buckets;
  std::vector<std::unique_ptr<Request>> requests;
  for (std::size_t size = 1; size < 40; ++size) {
    buckets.push_back(from_numbers<double>(numbers_of_rank(size, subject.world.rank())));
  }
  for (auto& bucket : buckets) {
    requests.push_back(subject.hierarchical.iall_reduce(Span<double>(bucket)));
    // Ranks advance their calls at different places.
    if (requests.size() % 3 == static_cast<std::size_t>(subject.world.rank()) % 3) {
      for (const auto& each : requests) each->test();
    }
  }
  for (const auto& each : requests) each->wait();
  for (const auto& bucket : buckets) {
    EXPECT_EQ(to_numbers(bucket), numbers_of_all(bucket.size(), subject.world.size()));
  }
}

// Hosts of two ranks that share their gradients, of which the last one may have one rank only.
struct SharedJob {
  void fill() {
    for (std::size_t i = 0; i < kCount; ++i) floats->mine()[i] = value_of(world.rank(), i);
  }
  static float value_of(int rank, std::size_t i) {
    constexpr float kScales[] = {0.3333F, 1000.7F, 0.0371F, 17.13F};
    return static_cast<float>(i % 97 + 1) * kScales[rank % 4];
  }
  // The ranks of a host in the order of SharedFloats, then the two hosts.
  float sum_of(std::size_t i, std::size_t first, std::size_t count) const {
    const int chunks = world.size() == 3 ? 1 : std::min(world.size(), 2);
    int owner = 0;
    const ChunkPartition partition(count, chunks);
    while (i - first >= partition.first(owner + 1)) ++owner;
    const auto sum_of_host = [&](int host) {
      const int ranks = std::min(2, world.size() - 2 * host);
      float sum = value_of(2 * host + (owner + 1) % ranks, i);
      if (ranks == 2) sum += value_of(2 * host + owner, i);
      return sum;
    };
    return world.size() <= 2 ? sum_of_host(0) : sum_of_host(0) + sum_of_host(1);
  }

  static constexpr std::size_t kCount = 1'200'003;  // more than a piece of blocking sums of a rank
  MpiCommunicator world = MpiCommunicator::world();
  MpiCommunicator node = world.split(world.rank() / 2);
  std::shared_ptr<SharedFloats> floats = SharedFloats::make(node, kCount);
  HierarchicalAllReduce hierarchical{world, node, Span<float>(), floats};
};

TEST(HierarchicalAllReduce, AddSharedGradientsInTheOrderOfHosts) {
  SharedJob job;
  job.fill();
  std::vector<std::unique_ptr<Request>> requests;
  constexpr std::size_t kBucket = 250'000;
  for (std::size_t at = 0; at < SharedJob::kCount; at += kBucket) {
    const std::size_t count = std::min(kBucket, SharedJob::kCount - at);
    requests.push_back(job.hierarchical.iall_reduce(job.floats->mine().subspan(at, count)));
    if (requests.size() % 2 == static_cast<std::size_t>(job.world.rank()) % 2) {
      for (const auto& each : requests) each->test();
    }
  }
  for (const auto& each : requests) each->wait();
  for (std::size_t i = 0; i < SharedJob::kCount; ++i) {
    const std::size_t first = i - i % kBucket;
    ASSERT_EQ(job.floats->mine()[i],
              job.sum_of(i, first, std::min(kBucket, SharedJob::kCount - first)))
        << i;
  }
}

TEST(HierarchicalAllReduce, AddSharedGradientsInPiecesAndOtherValuesToo) {
  SharedJob job;
  const Span<float> mine = job.floats->mine();
  std::fill(mine.begin(), mine.end(), static_cast<float>(job.world.rank() + 1));
  std::vector<float> elsewhere(1001, static_cast<float>(job.world.rank() + 1));
  const auto sum = static_cast<float>(job.world.size() * (job.world.size() + 1) / 2);
  const auto started = job.hierarchical.iall_reduce(Span<float>(elsewhere));
  job.hierarchical.all_reduce(mine.subspan(1, mine.size() - 1));
  started->wait();
  EXPECT_EQ(mine[0], static_cast<float>(job.world.rank() + 1));
  EXPECT_TRUE(std::all_of(mine.begin() + 1, mine.end(), [&](float each) { return each == sum; }));
  for (const float each : elsewhere) ASSERT_EQ(each, sum);
}

TEST(HierarchicalAllReduce, SayWhatTheyAre) {
  HierarchicalJob subject;
  EXPECT_EQ(subject.hierarchical.name(), "mpi in two levels");
}

}  // namespace
}  // namespace tandem::comm
