#include "tandem/comm/sum_algorithm.hpp"

#include <gtest/gtest.h>

namespace tandem::comm {
namespace {

TEST(SumAlgorithm, IsThatOfItsName) {
  EXPECT_EQ(sum_algorithm_name(SumAlgorithm::kFlat), "flat");
  EXPECT_EQ(sum_algorithm_name(SumAlgorithm::kTwoLevel), "two-level");
  for (const std::string& name : sum_algorithm_names()) {
    EXPECT_EQ(sum_algorithm_name(sum_algorithm_of(name)), name);
  }
}

}  // namespace
}  // namespace tandem::comm
