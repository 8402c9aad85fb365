#include "nccl_report.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tandem::comm {
namespace {

constexpr const char* kCure =
    " within 60 s (--init-timeout); name an interface by which all hosts reach each other in "
    "NCCL_SOCKET_IFNAME, open the firewall between them, and see what NCCL_DEBUG=INFO says";

TEST(NcclReport, NamesTheRanksThatDidNotConnectAndWhatAllBring) {
  EXPECT_EQ(describe_connect_timeout(60, {{true, "node7, GPU 0"}, {false, "node8, GPU 0"}}),
            std::string("NCCL did not connect rank 1 of 2") + kCure +
                "\n  rank 0 connected: node7, GPU 0\n  rank 1 waits: node8, GPU 0");
  EXPECT_EQ(describe_connect_timeout(60, {{false, "a"}, {true, "b"}, {false, "c"}}),
            std::string("NCCL did not connect ranks 0, 2 of 3") + kCure +
                "\n  rank 0 waits: a\n  rank 1 connected: b\n  rank 2 waits: c");
  EXPECT_EQ(describe_connect_timeout(60, {{false, "a"}, {false, "b"}}),
            std::string("NCCL did not connect any rank of 2") + kCure +
                "\n  rank 0 waits: a\n  rank 1 waits: b");
}

TEST(NcclReport, NamesTheFirstRankWithAnotherVersion) {
  EXPECT_EQ(describe_versions({"2.28.9", "2.28.9"}, {"n1", "n2"}), "");
  const std::string text =
      describe_versions({"2.28.9", "2.28.9", "2.27.5", "2.26.2"}, {"n1", "n1", "n2", "n3"});
  EXPECT_EQ(text.rfind("rank 0 (n1) has NCCL 2.28.9, rank 2 (n2) has NCCL 2.27.5; ", 0), 0U)
      << text;
}

TEST(NcclReport, TellsOfSharedMemoryThatIsTooSmall) {
  const std::string text = small_shared_memory("/nowhere");
  EXPECT_EQ(text.rfind("; /nowhere of ", 0), 0U) << text;
  EXPECT_NE(text.find(" is missing, and NCCL needs more"), std::string::npos) << text;
  EXPECT_EQ(small_shared_memory("/"), "") << "a disk is larger than 64 MiB";
}

TEST(NcclReport, TellsTheSettingsOfNcclAndNoOthers) {
  ASSERT_EQ(setenv("NCCL_TEST_B", "2", 1), 0);
  ASSERT_EQ(setenv("NCCL_TEST_A", "1", 1), 0);
  ASSERT_EQ(setenv("SECRET_NCCL_", "3", 1), 0);
  const std::string settings = nccl_settings();
  EXPECT_NE(settings.find("NCCL_TEST_A=1 NCCL_TEST_B=2"), std::string::npos) << settings;
  EXPECT_EQ(settings.find("SECRET"), std::string::npos) << settings;
  for (const char* name : {"NCCL_TEST_A", "NCCL_TEST_B", "SECRET_NCCL_"}) unsetenv(name);
}

TEST(NcclReport, LeavesOutTheLoopback) {
  EXPECT_EQ(interface_addresses().find("127.0.0.1"), std::string::npos) << interface_addresses();
  EXPECT_FALSE(interface_addresses().empty());
}

}  // namespace
}  // namespace tandem::comm
