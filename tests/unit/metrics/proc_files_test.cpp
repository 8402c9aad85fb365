#include <gtest/gtest.h>

#include "support/temp_dir.hpp"
#include "system_probe.hpp"
#include "tandem/core/file.hpp"

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

}  // namespace
}  // namespace tandem::metrics
