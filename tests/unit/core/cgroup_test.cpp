#include "tandem/core/cgroup.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/temp_dir.hpp"
#include "tandem/core/file.hpp"

namespace tandem {
namespace {

class KernelFiles : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    write_file_atomically(file, text);
  }

  const testing::TempDir root_;
};

class CgroupTest : public KernelFiles {
 protected:
  CgroupCounters read() const { return Cgroup(root_.path()).read(); }
};

constexpr char kMount2[] =
    "24 1 0:22 / /proc rw - proc proc rw\n"
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST_F(CgroupTest, Version2TakesTheLeastLimitOfAllLevels) {
  put("/proc/self/cgroup", "0::/job/step/task\n");
  put("/proc/self/mountinfo", kMount2);
  put("/sys/fs/cgroup/job/step/task/memory.max", "max\n");
  put("/sys/fs/cgroup/job/step/task/memory.current", "1000\n");
  put("/sys/fs/cgroup/job/step/memory.max", "8000\n");
  put("/sys/fs/cgroup/job/step/memory.current", "3000\n");
  put("/sys/fs/cgroup/job/memory.max", "9000\n");
  put("/sys/fs/cgroup/job/memory.current", "4000\n");
  put("/sys/fs/cgroup/job/step/task/cpu.max", "max 100000\n");
  put("/sys/fs/cgroup/job/step/task/cpu.stat", "usage_usec 9\nnr_periods 0\nnr_throttled 0\n");
  put("/sys/fs/cgroup/job/step/cpu.max", "150000 50000\n");
  put("/sys/fs/cgroup/job/step/cpu.stat", "nr_periods 90\nnr_throttled 7\n");
  put("/sys/fs/cgroup/job/cpu.max", "200000 100000\n");
  put("/sys/fs/cgroup/job/cpu.stat", "nr_periods 40\nnr_throttled 2\nthrottled_usec 500000\n");
  const CgroupCounters found = read();
  EXPECT_EQ(found.memory_limit_bytes, 8000U);
  EXPECT_EQ(found.memory_bytes, 3000U) << "the usage is that of the group with the limit";
  EXPECT_EQ(found.cpu_periods, 40U) << "two CPUs are less than three";
  EXPECT_EQ(found.throttled_periods, 2U);
  const auto limit = Cgroup(root_.path()).cpu_limit();
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->cpus, 2);
  struct stat status {};
  ASSERT_EQ(::stat((root_.path() + "/sys/fs/cgroup/job").c_str(), &status), 0);
  EXPECT_EQ(limit->group, status.st_ino);
}

TEST_F(CgroupTest, WithoutALimitTheUsageIsItsOwn) {
  put("/proc/self/cgroup", "0::/job\n");
  put("/proc/self/mountinfo", kMount2);
  put("/sys/fs/cgroup/job/memory.max", "max\n");
  put("/sys/fs/cgroup/job/memory.current", "1000\n");
  const CgroupCounters found = read();
  EXPECT_EQ(found.memory_limit_bytes, std::nullopt);
  EXPECT_EQ(found.memory_bytes, 1000U);
  EXPECT_EQ(found.cpu_periods, std::nullopt);
  EXPECT_FALSE(Cgroup(root_.path()).cpu_limit());
}

TEST_F(CgroupTest, Version1HasAMountForEachController) {
  put("/proc/self/cgroup",
      "4:memory:/slurm/job_5\n3:cpu,cpuacct:/slurm/job_5\n1:name=systemd:/\n0::/\n");
  put("/proc/self/mountinfo",
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  put("/sys/fs/cgroup/memory/slurm/job_5/memory.limit_in_bytes", "9223372036854771712\n");
  put("/sys/fs/cgroup/memory/slurm/job_5/memory.usage_in_bytes", "1000\n");
  put("/sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "6000\n");
  put("/sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", "2000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/slurm/job_5/cpu.stat",
      "nr_periods 5\nnr_throttled 1\nthrottled_time 250000000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/slurm/job_5/cpu.cfs_quota_us", "150000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/slurm/job_5/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.stat", "nr_periods 0\nnr_throttled 0\n");
  put("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n");
  const CgroupCounters found = read();
  EXPECT_EQ(found.memory_limit_bytes, 6000U);
  EXPECT_EQ(found.memory_bytes, 2000U);
  EXPECT_EQ(found.cpu_periods, 5U);
  EXPECT_EQ(found.throttled_periods, 1U);
}

TEST_F(CgroupTest, AContainerSeesItsGroupAtTheTop) {
  put("/proc/self/cgroup", "4:memory:/docker/abc/inner\n");
  put("/proc/self/mountinfo",
      "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n");
  put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1500\n");
  put("/sys/fs/cgroup/memory/inner/memory.usage_in_bytes", "700\n");
  EXPECT_EQ(read().memory_limit_bytes, 5000U);
  put("/proc/self/cgroup", "4:memory:/docker/abcdef\n");  // of a like name, not seen here
  EXPECT_EQ(read().memory_bytes, 1500U);
  put("/proc/self/cgroup", "4:memory:/../other\n");
  EXPECT_EQ(read().memory_bytes, 1500U);
}

TEST_F(CgroupTest, NoControlGroupsAreNoFault) {
  const CgroupCounters none = read();
  EXPECT_FALSE(none.memory_bytes || none.memory_limit_bytes || none.cpu_periods);
  put("/proc/self/cgroup", "nonsense\n:\n0::\n");
  put("/proc/self/mountinfo", "- cgroup\n1 2 3 - cgroup2\n");
  EXPECT_FALSE(read().memory_bytes);
}

class MemoryRoomTest : public KernelFiles {
 protected:
  void put_host(const std::string& swap = "0") {
    put("/proc/meminfo",
        "MemTotal:  9000 kB\nMemAvailable:  5000 kB\nSwapFree:  " + swap + " kB\n");
  }
  void put_groups() {
    put("/proc/self/cgroup", "0::/job/step\n");
    put("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/job/step/memory.max", "max\n");
    put("/sys/fs/cgroup/job/step/memory.current", "1000\n");
    put("/sys/fs/cgroup/job/memory.max", "80000\n");
    put("/sys/fs/cgroup/job/memory.current", "50000\n");
  }
};

TEST_F(MemoryRoomTest, IsOfTheHostWhereNoGroupHasALimit) {
  put_host("100");
  const auto room = memory_room(root_.path());
  ASSERT_TRUE(room);
  EXPECT_EQ(room->bytes, 5100U * 1024);
  EXPECT_EQ(room->text(), "5.2 MB are available (memory of the host)");
}

TEST_F(MemoryRoomTest, IsOfTheNearestLimit) {
  put_host();
  put_groups();
  const auto room = memory_room(root_.path());
  ASSERT_TRUE(room);
  EXPECT_EQ(room->bytes, 30'000U);
  EXPECT_EQ(room->text(), "30.0 kB are available (limit of the control group)");
  put("/proc/meminfo", "MemAvailable:  9 kB\n");
  EXPECT_EQ(memory_room(root_.path())->bytes, 9U * 1024);
}

TEST_F(MemoryRoomTest, CachesOfFilesAreFree) {
  put_host();
  put_groups();
  put("/sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 7000\nactive_file 3000\nshmem 9\n");
  EXPECT_EQ(memory_room(root_.path())->bytes, 40'000U);
  put("/sys/fs/cgroup/job/memory.current", "90000\n");  // above it, for a moment
  EXPECT_EQ(memory_room(root_.path())->bytes, 0U);
}

TEST_F(MemoryRoomTest, SwapCountsWhereTheGroupMayUseIt) {
  put_host("100");
  put_groups();
  put("/sys/fs/cgroup/job/memory.swap.max", "2000\n");
  put("/sys/fs/cgroup/job/memory.swap.current", "500\n");
  EXPECT_EQ(memory_room(root_.path())->bytes, 31'500U);
  put("/sys/fs/cgroup/job/memory.swap.max", "max\n");
  EXPECT_EQ(memory_room(root_.path())->bytes, 30'000U + 102'400U);
}

TEST_F(MemoryRoomTest, Version1CountsTheGroupsBelow) {
  put_host();
  put("/proc/self/cgroup", "4:memory:/job\n");
  put("/proc/self/mountinfo", "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "6000\n");
  put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4000\n");
  put("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
  EXPECT_EQ(memory_room(root_.path())->bytes, 2500U);
}

TEST_F(MemoryRoomTest, IsUnknownWhereTheKernelSaysNothing) {
  EXPECT_FALSE(memory_room(root_.path()));
}

}  // namespace
}  // namespace tandem
