#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "parallel.hpp"
#include "tandem/data/fit_picture.hpp"

namespace tandem::data {
namespace {

// The most threads that held `each` of 100 at a time.
int most_at_once(std::uint64_t each) {
  MemoryBudget budget(100);
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  for_each_index(200, 8, [&](std::size_t) {
    MemoryBudget::Share share(budget);
    share.take(each);
    const int here = ++now;
    int before = most;
    while (before < here && !most.compare_exchange_weak(before, here)) {
    }
    std::this_thread::yield();
    --now;
  });
  return most;
}

TEST(MemoryBudget, IsNeverExceeded) {
  EXPECT_LE(most_at_once(30), 3);
  EXPECT_EQ(most_at_once(60), 1);
}

TEST(MemoryBudget, WhatIsLargerThanAllOfItWorksAlone) { EXPECT_EQ(most_at_once(1000), 1); }

}  // namespace
}  // namespace tandem::data
