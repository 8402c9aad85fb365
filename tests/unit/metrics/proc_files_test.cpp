#include "proc_files.hpp"

#include <gtest/gtest.h>

#include "support/temp_dir.hpp"
#include "tandem/core/file.hpp"

namespace tandem::metrics {
namespace {

constexpr char kStatus[] =
    "Name:\ttandem\n"
    "Threads_of_others:\t99\n"
    "VmPeak:\t  900000 kB\n"
    "VmRSS:\t  123456 kB\n"
    "Threads:\t7\n"
    "voluntary_ctxt_switches:\t150";

TEST(ProcFiles, FieldsAreFoundByTheirWholeName) {
  EXPECT_EQ(field_of(kStatus, "VmRSS"), 123456U * 1024);
  EXPECT_EQ(field_of(kStatus, "Threads"), 7U);
  EXPECT_EQ(field_of(kStatus, "voluntary_ctxt_switches"), 150U) << "a last line without an end";
  EXPECT_EQ(field_of("rchar: 5\nread_bytes: 4096\n", "read_bytes"), 4096U);
  EXPECT_EQ(field_of("nr_throttled 3\nthrottled_usec 1500\n", "throttled_usec"), 1500U);
}

TEST(ProcFiles, WhatIsNoNumberIsAbsent) {
  EXPECT_EQ(field_of(kStatus, "Thread"), std::nullopt);
  EXPECT_EQ(field_of(kStatus, "Name"), std::nullopt);
  EXPECT_EQ(field_of("", "Threads"), std::nullopt);
  EXPECT_EQ(field_of("Threads:", "Threads"), std::nullopt);
  EXPECT_EQ(field_of("Threads:\t7x\n", "Threads"), std::nullopt);
  EXPECT_EQ(field_of("Threads:\t99999999999999999999\n", "Threads"), std::nullopt);
}

TEST(ProcFiles, ReadsThisProcess) {
  const ProcessCounters self = read_process();
  ASSERT_TRUE(self.rss_bytes && self.threads && self.cpu_seconds && self.context_switches);
  EXPECT_GT(*self.rss_bytes, 100'000U);
  EXPECT_GE(*self.threads, 1U);
}

TEST(ProcFiles, ReadsWhatItsFolderHolds) {
  const testing::TempDir folder;
  write_file_atomically(folder / "status", kStatus);
  const ProcessCounters found = read_process(folder.path());
  EXPECT_EQ(found.rss_bytes, 123456U * 1024);
  EXPECT_EQ(found.threads, 7U);
  EXPECT_EQ(found.read_bytes, std::nullopt) << "a kernel may keep io to itself";
}

}  // namespace
}  // namespace tandem::metrics
