#include "tandem/metrics/straggler.hpp"

#include <gtest/gtest.h>

namespace tandem::metrics {
namespace {

// Ranks that meet in an exchange: a step of each lasts as long as that of the slowest.
std::vector<RankRecord> ranks_of(const std::vector<std::pair<double, double>>& data_and_compute) {
  std::vector<RankRecord> ranks;
  for (const auto& [data, compute] : data_and_compute) {
    RankRecord rank;
    rank.data_seconds = data;
    rank.compute_seconds = compute;
    rank.step_seconds = 0.2;
    rank.exchange_seconds = rank.step_seconds - data - compute;
    ranks.push_back(rank);
  }
  return ranks;
}

TEST(Straggler, IsTheRankThatArrivesLast) {
  const auto straggler = find_straggler(ranks_of({{0.001, 0.1}, {0.021, 0.101}, {0.001, 0.1}}));
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 1);
  EXPECT_NEAR(straggler->seconds, 0.021, 1e-9);
  EXPECT_NEAR(straggler->share, 0.105, 1e-9);
  EXPECT_TRUE(straggler->is_in_data);
  EXPECT_EQ(straggler->describe({"n1", "node8", "n2"}),
            "slowest rank 1 (node8): +21 ms/step in data");
}

TEST(Straggler, IsComparedWithTheMedianSoThatAFastRankDoesNotCount) {
  const auto straggler = find_straggler(ranks_of({{0, 0.1}, {0, 0.01}, {0, 0.1}, {0, 0.102}}));
  EXPECT_EQ(straggler->rank, 3);
  EXPECT_NEAR(straggler->seconds, 0.002, 1e-9);
  EXPECT_FALSE(straggler->is_in_data);
  EXPECT_EQ(straggler->describe({"a", "a", "a", "a"}),
            "slowest rank 3 (a): +2.0 ms/step in compute");
}

TEST(Straggler, NeedsSomebodyWhoWaits) {
  EXPECT_FALSE(find_straggler({}));
  EXPECT_FALSE(find_straggler(ranks_of({{0, 1}})));
}

TEST(StragglerWatch, NamesARankThatStaysSlowAndKeepsTheName) {
  const auto slow_0 = ranks_of({{0, 0.15}, {0, 0.1}});
  const auto slow_1 = ranks_of({{0, 0.1}, {0, 0.15}});
  const auto none = ranks_of({{0, 0.1}, {0, 0.105}});
  StragglerWatch watch;
  for (int i = 0; i < 20; ++i) watch.add(i % 2 == 0 ? slow_0 : slow_1, 1);
  EXPECT_FALSE(watch.named()) << "either rank now and then";
  for (int i = 0; i < 8; ++i) watch.add(slow_1, 1);
  EXPECT_FALSE(watch.named());
  watch.add(slow_1, 1);
  ASSERT_TRUE(watch.named());
  EXPECT_EQ(watch.named()->rank, 1);
  for (int i = 0; i < 9; ++i) watch.add(i % 2 == 0 ? none : slow_0, 1);
  EXPECT_EQ(watch.named()->rank, 1);
  watch.add(ranks_of({{0, 0.1}, {0, 0.18}}), 1);
  EXPECT_NEAR(watch.named()->seconds, 0.08, 1e-9) << "the latest number";
  watch.add(none, 5);
  watch.add(none, 5);
  EXPECT_FALSE(watch.named());
  watch.add(slow_0, StragglerWatch::kSeconds);
  EXPECT_EQ(watch.named()->rank, 0);
}

}  // namespace
}  // namespace tandem::metrics
