#include "tandem/core/host.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>
#include <filesystem>

#include "support/temp_dir.hpp"
#include "tandem/core/file.hpp"

namespace tandem {
namespace {

// In place of the kernel's answer on this thread.
struct AffinityAnswer {
  std::size_t smallest_set = 0;  // bytes
  std::size_t cpu = 0;
  int error = EINVAL;  // for smaller sets
};
thread_local const AffinityAnswer* affinity_answer = nullptr;

}  // namespace
}  // namespace tandem

extern "C" int sched_getaffinity(pid_t process, std::size_t bytes, cpu_set_t* set) noexcept {
  using Function = int(pid_t, std::size_t, cpu_set_t*);
  const tandem::AffinityAnswer* const answer = tandem::affinity_answer;
  if (answer == nullptr) {
    static auto* const original =
        reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "sched_getaffinity"));
    return original(process, bytes, set);
  }
  if (bytes < answer->smallest_set) {
    errno = answer->error;
    return -1;
  }
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(answer->cpu, bytes, set);
  return 0;
}

namespace tandem {
namespace {

std::vector<int> cpus_by(const AffinityAnswer& answer) {
  affinity_answer = &answer;
  const std::vector<int> cpus = allowed_cpus();
  affinity_answer = nullptr;
  return cpus;
}

TEST(Host, CpusBeyondTheFixedSetAreFound) {
  EXPECT_EQ(cpus_by({sizeof(cpu_set_t), 7}), std::vector<int>{7});
  EXPECT_EQ(cpus_by({4 * sizeof(cpu_set_t), 3000}), std::vector<int>{3000});
}

TEST(Host, WithoutAnAnswerThereIsOneCpu) {
  constexpr std::size_t kNone = ~std::size_t{0};
  EXPECT_EQ(cpus_by({kNone, 7, EPERM}), std::vector<int>{0});
  EXPECT_EQ(cpus_by({kNone, 7, EINVAL}), std::vector<int>{0});
}

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
