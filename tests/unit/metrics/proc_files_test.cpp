#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.hpp"
#include "system_probe.hpp"
#include "tandem/core/file.hpp"
#include "tandem/metrics/host_counters.hpp"

namespace tandem::metrics {
namespace {

TEST(ProcFiles, ReadsThisProcess) {
  const ProcessCounters self = read_process();
  ASSERT_TRUE(self.rss_bytes && self.threads && self.cpu_seconds && self.context_switches);
  EXPECT_GT(*self.rss_bytes, 100'000U);
  EXPECT_GE(*self.threads, 1U);
}

TEST(ProcFiles, ReadsWhatItsFolderHolds) {
  const testing::TempDir folder;
  write_file_atomically(folder / "status", "VmRSS:\t  123456 kB\nThreads:\t7\n");
  const ProcessCounters found = read_process(folder.path());
  EXPECT_EQ(found.rss_bytes, 123456U * 1024);
  EXPECT_EQ(found.threads, 7U);
  EXPECT_EQ(found.read_bytes, std::nullopt) << "a kernel may keep io to itself";
}

TEST(ProcFiles, ReadsThisHost) {
  const HostCounters host = read_host();
  ASSERT_TRUE(host.cpus && host.busy_ticks && host.all_ticks && host.memory_bytes);
  EXPECT_GE(*host.cpus, 1U);
  EXPECT_GT(*host.all_ticks, *host.busy_ticks);
  EXPECT_GT(*host.memory_total_bytes, *host.memory_bytes);
}

TEST(ProcFiles, ReadsAHostWithoutItsIdleTimeCachesAndLoopback) {
  const testing::TempDir folder;
  std::filesystem::create_directory(folder / "net");
  write_file_atomically(folder / "stat",
                        "cpu  10 20 30 1000 500 5 6 7 8 9\n"
                        "cpu0 5 10 15 500 250 5 6 7 4 5\ncpu7 5 10 15 500 250 0 0 0 4 4\n"
                        "intr 12345 0 0\nctxt 99\n");
  write_file_atomically(folder / "meminfo",
                        "MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  600 kB\n");
  write_file_atomically(
      folder / "net/dev",
      "Inter-|   Receive                |  Transmit\n face |bytes    packets errs|bytes\n"
      "    lo: 77 1 0 0 0 0 0 0 77 1 0 0 0 0 0 0\n"
      "  eth0:1000 2 0 0 0 0 0 0 50 3 0 0 0 0 0 0\n"
      "   ib0: 10000 2 0 0 0 0 0 0 600 3 0 0 0 0 0 0\n");
  const HostCounters host = read_host(folder.path(), folder / "class");
  EXPECT_EQ(host.cpus, 2U);
  EXPECT_EQ(host.busy_ticks, 10U + 20 + 30 + 5 + 6 + 7) << "a guest's time is in the user's";
  EXPECT_EQ(host.all_ticks, 10U + 20 + 30 + 1000 + 500 + 5 + 6 + 7);
  EXPECT_EQ(host.memory_bytes, 400U * 1024);
  EXPECT_EQ(host.memory_total_bytes, 1000U * 1024);
  EXPECT_EQ(host.received_bytes, 11000U);
  EXPECT_EQ(host.sent_bytes, 650U);
}

TEST(ProcFiles, CountsOnlyDevicesWhereThereAreSome) {
  const testing::TempDir folder;
  std::filesystem::create_directory(folder / "net");
  std::string dev;
  for (const char* name : {"lo", "eth0", "eth1", "bond0", "bond0.7", "veth1"}) {
    dev += std::string(name) + ": 100 2 0 0 0 0 0 0 7 3 0 0 0 0 0 0\n";
  }
  write_file_atomically(folder / "net/dev", dev);
  std::filesystem::create_directories(folder / "class/bond0");
  const HostCounters container = read_host(folder.path(), folder / "class");
  EXPECT_EQ(container.received_bytes, 500U) << "all but the loopback";
  EXPECT_EQ(container.sent_bytes, 35U);
  std::filesystem::create_directories(folder / "class/eth0/device");
  std::filesystem::create_directories(folder / "class/eth1/device");
  const HostCounters host = read_host(folder.path(), folder / "class");
  EXPECT_EQ(host.received_bytes, 200U) << "the bond's bytes are those of its cards";
  EXPECT_EQ(host.sent_bytes, 14U);
}

TEST(ProcFiles, AHostThatTellsNothingOrNonsenseHasNoValues) {
  const testing::TempDir folder;
  const HostCounters silent = read_host(folder.path());
  EXPECT_FALSE(silent.cpus || silent.busy_ticks || silent.memory_bytes || silent.sent_bytes);
  std::filesystem::create_directory(folder / "net");
  write_file_atomically(folder / "stat", "cpu  10 20 x\n");
  write_file_atomically(folder / "meminfo", "MemTotal:  1000 kB\n");
  write_file_atomically(folder / "net/dev", "  eth0: 1000 2\n");
  const HostCounters odd = read_host(folder.path());
  EXPECT_FALSE(odd.cpus || odd.busy_ticks || odd.memory_bytes || odd.sent_bytes);
  EXPECT_EQ(odd.memory_total_bytes, 1000U * 1024);
}

}  // namespace
}  // namespace tandem::metrics
