// That sums in two levels are those of one, on hosts of two ranks that are made up of this host's.
#include "allreduce/hierarchical_all_reduce.hpp"

#include <gtest/gtest.h>

#include "collectives_conformance.hpp"
#include "support/mpi_test.hpp"
#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {
namespace {

struct HierarchicalJob {
  template <typename T>
  struct Memory {
    Memory(HierarchicalJob&, std::vector<T> initial) : values(std::move(initial)) {}
    Span<T> span() { return Span<T>(values); }
    const std::vector<T>& read() const { return values; }
    std::vector<T> values;
  };
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
INSTANTIATE_TYPED_TEST_SUITE_P(HierarchicalJob, Conformance, Cases);

TEST(HierarchicalAllReduce, GiveAllRanksTheSameBitsOfASumThatRounds) {
  HierarchicalJob subject;
  const int rank = subject.world.rank();
  std::vector<float> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 1.0F / (1.0F + static_cast<float>(i) + 0.37F * static_cast<float>(rank));
  }
  subject.hierarchical.iall_reduce(Span<float>(values))->wait();
  for (const float value : values) {
    ASSERT_EQ(subject.world.all_reduce_value(value, Reduction::kMin),
              subject.world.all_reduce_value(value, Reduction::kMax));
  }
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
    EXPECT_EQ(to_numbers(bucket),
              numbers_of_all(bucket.size(), subject.world.size(), Reduction::kSum));
  }
}

TEST(HierarchicalAllReduce, SayWhatTheyAre) {
  HierarchicalJob subject;
  EXPECT_EQ(subject.hierarchical.name(), "mpi in two levels");
}

}  // namespace
}  // namespace tandem::comm
