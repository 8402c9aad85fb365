#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/file.hpp"

namespace tandem {
namespace {

class MemoryRoomTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    write_file_atomically(file, text);
  }
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

  const testing::TempDir root_;
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
