#include "tandem/comm/sum_algorithm.hpp"

#include <gtest/gtest.h>

namespace tandem::comm {
namespace {

TEST(SumAlgorithm, HasTwoLevelsWhereHostsHaveSeveralRanksAndThereAreSeveral) {
  EXPECT_EQ(choose_sum_algorithm(1, 1), SumAlgorithm::kFlat);
  EXPECT_EQ(choose_sum_algorithm(4, 1), SumAlgorithm::kFlat);
  EXPECT_EQ(choose_sum_algorithm(4, 4), SumAlgorithm::kFlat);
  EXPECT_EQ(choose_sum_algorithm(4, 2), SumAlgorithm::kTwoLevel);
  EXPECT_EQ(choose_sum_algorithm(3, 2), SumAlgorithm::kTwoLevel) << "2 and 1 ranks";
}

TEST(SumAlgorithm, HasAName) {
  EXPECT_EQ(sum_algorithm_name(SumAlgorithm::kFlat), "flat");
  EXPECT_EQ(sum_algorithm_name(SumAlgorithm::kTwoLevel), "two-level");
}

}  // namespace
}  // namespace tandem::comm
