#include "tandem/core/host.hpp"

#include <gtest/gtest.h>
#include <sched.h>

namespace tandem {
namespace {

TEST(Host, CpusAreThoseOfTheAffinityMask) {
  const std::vector<int> before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(before.back()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(allowed_cpus(), std::vector<int>{before.back()});
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const int cpu : before) CPU_SET(static_cast<std::size_t>(cpu), &all);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

}  // namespace
}  // namespace tandem
