#include "tandem/core/kernel_file.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

constexpr char kStatus[] =
    "Name:\ttandem\n"
    "Threads_of_others:\t99\n"
    "VmPeak:\t  900000 kB\n"
    "VmRSS:\t  123456 kB\n"
    "Threads:\t7\n"
    "voluntary_ctxt_switches:\t150";

TEST(KernelFile, FieldsAreFoundByTheirWholeName) {
  EXPECT_EQ(field_of(kStatus, "VmRSS"), 123456U * 1024);
  EXPECT_EQ(field_of(kStatus, "Threads"), 7U);
  EXPECT_EQ(field_of(kStatus, "voluntary_ctxt_switches"), 150U) << "a last line without an end";
  EXPECT_EQ(field_of("rchar: 5\nread_bytes: 4096\n", "read_bytes"), 4096U);
  EXPECT_EQ(field_of("nr_throttled 3\nthrottled_usec 1500\n", "throttled_usec"), 1500U);
}

TEST(KernelFile, WhatIsNoNumberIsAbsent) {
  EXPECT_EQ(field_of(kStatus, "Thread"), std::nullopt);
  EXPECT_EQ(field_of(kStatus, "Name"), std::nullopt);
  EXPECT_EQ(field_of("", "Threads"), std::nullopt);
  EXPECT_EQ(field_of("Threads:", "Threads"), std::nullopt);
  EXPECT_EQ(field_of("Threads:\t7x\n", "Threads"), std::nullopt);
  EXPECT_EQ(field_of("Threads:\t99999999999999999999\n", "Threads"), std::nullopt);
}

TEST(KernelFile, FieldsOfStatAreCountedBehindTheName) {
  constexpr char kStat[] = "4711 (a) b (c) S 1 22 333\n";
  EXPECT_EQ(field_of_stat(kStat, 3), "S");
  EXPECT_EQ(field_of_stat(kStat, 4), "1");
  EXPECT_EQ(field_of_stat(kStat, 5), "22");
  EXPECT_EQ(field_of_stat(kStat, 7), "");
  EXPECT_EQ(field_of_stat("", 3), "");
}

}  // namespace
}  // namespace tandem
