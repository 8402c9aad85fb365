#include "tandem/train/rank_times.hpp"

#include <gtest/gtest.h>

#include "support/mpi_test.hpp"
#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::train {
namespace {

TEST(RankTimes, GivesRankZeroTheMeansOfAll) {
  auto comm = comm::MpiCommunicator::world();
  RankTimes times;
  const double mine = comm.rank() + 1;
  Totals totals;
  totals.images = 4;
  totals.counted_images = 4;
  totals.loss = 4 * mine;
  times.add({0.1 * mine, 0.75, 0.25, 2, 0}, 4);
  times.add({0.3 * mine, 1, 2, 4, 0}, 8);
  times.add(totals);
  times.add(totals);
  metrics::SystemUsage system;
  system.samples = 3;
  system.values[metrics::kThreads] = mine;
  if (comm.rank() == 1) system.values[metrics::kGpuPercent] = 50;
  const auto ranks = times.gather(comm, system);
  ASSERT_EQ(ranks.size(), comm.rank() == 0 ? static_cast<std::size_t>(comm.size()) : 0U);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const double theirs = static_cast<double>(rank) + 1;
    EXPECT_EQ(ranks[rank].images, 8U);
    EXPECT_DOUBLE_EQ(ranks[rank].loss, theirs);
    EXPECT_DOUBLE_EQ(ranks[rank].data_seconds, 0.2 * theirs);
    EXPECT_DOUBLE_EQ(ranks[rank].compute_seconds, 2);
    EXPECT_DOUBLE_EQ(ranks[rank].exchange_seconds, 3);
    EXPECT_DOUBLE_EQ(ranks[rank].step_seconds, 6);
    EXPECT_DOUBLE_EQ(ranks[rank].images_per_second, 8.0 / 12);
    EXPECT_EQ(ranks[rank].system.samples, 3);
    EXPECT_EQ(ranks[rank].system.values[metrics::kThreads], theirs);
    EXPECT_EQ(metrics::SystemUsage::is_present(ranks[rank].system.values[metrics::kGpuPercent]),
              rank == 1)
        << "what one rank lacks is absent there alone";
  }
  times.add({1, 1, 0, 1, 0}, 1);
  const auto next = times.gather(comm);
  if (comm.rank() != 0) return;
  EXPECT_EQ(next.front().images, 0U) << "what was gathered counts again";
  EXPECT_EQ(next.front().system.samples, 0);
}

}  // namespace
}  // namespace tandem::train
