#include "tandem/train/rank_times.hpp"

#include <gtest/gtest.h>

#include "support/mpi_test.hpp"
#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::train {
namespace {

TEST(RankTimes, GivesEveryRankTheMeansOfAll) {
  auto comm = comm::MpiCommunicator::world();
  RankTimes times;
  const double mine = comm.rank() + 1;
  Totals totals;
  totals.images = 4;
  totals.counted_images = 4;
  totals.loss = 4 * mine;
  times.add(StepSeconds{0.1 * mine, 1, 2, 4});
  times.add(StepSeconds{0.3 * mine, 3, 4, 8});
  times.add(totals);
  times.add(totals);
  const auto ranks = times.gather(comm);
  ASSERT_EQ(ranks.size(), static_cast<std::size_t>(comm.size()));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const double theirs = static_cast<double>(rank) + 1;
    EXPECT_EQ(ranks[rank].images, 8U);
    EXPECT_DOUBLE_EQ(ranks[rank].loss, theirs);
    EXPECT_DOUBLE_EQ(ranks[rank].data_seconds, 0.2 * theirs);
    EXPECT_DOUBLE_EQ(ranks[rank].compute_seconds, 2);
    EXPECT_DOUBLE_EQ(ranks[rank].exchange_seconds, 3);
    EXPECT_DOUBLE_EQ(ranks[rank].step_seconds, 6);
  }
  times.add(StepSeconds{1, 1, 1, 1});
  EXPECT_EQ(times.gather(comm).front().images, 0U) << "what was gathered counts again";
}

}  // namespace
}  // namespace tandem::train
