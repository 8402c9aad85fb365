#include "tandem/comm/allreduce/all_reduce.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem::comm {
namespace {

TEST(AllReduceAlgorithm, IsThatOfItsName) {
  EXPECT_EQ(all_reduce_algorithm_name(AllReduceAlgorithm::kFlat), "flat");
  EXPECT_EQ(all_reduce_algorithm_name(AllReduceAlgorithm::kTwoLevel), "two-level");
  EXPECT_EQ(all_reduce_algorithm_name(AllReduceAlgorithm::kLibrary), "mpi");
  for (const std::string& name : all_reduce_algorithm_names()) {
    EXPECT_EQ(all_reduce_algorithm_name(all_reduce_algorithm_of(name)), name);
  }
  EXPECT_THROW(all_reduce_algorithm_of("rings"), UsageError);
}

}  // namespace
}  // namespace tandem::comm
