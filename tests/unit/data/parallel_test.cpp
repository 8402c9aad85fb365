#include "data/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "support/no_more_threads.hpp"

namespace tandem::data {
namespace {

#ifndef TANDEM_SANITIZED  // sanitizers need memory of their own for each call
TEST(ForEachIndex, DoesAllOfItAlsoWhereNoThreadIsGranted) {
  const NoMoreThreads refused;
  ASSERT_TRUE(refused.are_refused);
  std::atomic<std::size_t> sum{0};
  for_each_index(1000, 4, [&](std::size_t i) { sum += i; });
  EXPECT_EQ(sum, 499'500U);
}
#endif

}  // namespace
}  // namespace tandem::data
