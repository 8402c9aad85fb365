#include "data/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <vector>

#include "support/failing_calls.hpp"

namespace tandem::data {
namespace {

TEST(ForEachIndex, DoesAllOfItAlsoWhereNoThreadIsGranted) {
  const testing::FailingCalls refused("pthread_create", "", EAGAIN);
  std::atomic<std::size_t> sum{0};
  for_each_index(1000, 4, [&](std::size_t i) { sum += i; });
  EXPECT_EQ(sum, 499'500U);
  EXPECT_GT(refused.count(), 0);
}

}  // namespace
}  // namespace tandem::data
