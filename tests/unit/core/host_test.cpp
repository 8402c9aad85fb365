#include "tandem/core/host.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>

#include "support/temp_dir.hpp"
#include "tandem/core/file.hpp"

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

TEST(Host, CpusOfOneCoreAreCountedOnce) {
  const testing::TempDir folder;
  const auto write = [&](int cpu, const std::string& siblings) {
    const std::string place = folder / ("cpu" + std::to_string(cpu) + "/topology");
    std::filesystem::create_directories(place);
    write_file_atomically(place + "/thread_siblings_list", siblings + "\n");
  };
  write(0, "0,4");
  write(4, "0,4");
  write(1, "1,5");
  EXPECT_EQ(cores_of({0, 4}, folder.path()), 1);
  EXPECT_EQ(cores_of({0, 1, 4}, folder.path()), 2);
  EXPECT_EQ(cores_of({2, 3}, folder.path()), 2) << "of which nothing is told";
  EXPECT_GE(cores_of(allowed_cpus()), 1);
}

}  // namespace
}  // namespace tandem
