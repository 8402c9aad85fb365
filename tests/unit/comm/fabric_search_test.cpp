#include "fabric_search.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/temp_dir.hpp"

namespace tandem::comm {
namespace {

// "" without the variable.
std::string layers() {
  const char* value = std::getenv("OMPI_MCA_pml");
  return value == nullptr ? "" : value;
}

class FabricSearchTest : public ::testing::Test {
 protected:
  void SetUp() override { forget(); }
  void TearDown() override { forget(); }
  static void forget() {
    ::unsetenv("OMPI_MCA_pml");
    ::unsetenv("OMPI_MCA_mtl");
  }
  std::string layers_while_searching() const {
    const FabricSearch search(root_.path());
    return layers();
  }
  void add(const char* device) const { std::filesystem::create_directories(root_ / device); }

  const tandem::testing::TempDir root_;
};

TEST_F(FabricSearchTest, IsSkippedWithoutADevice) {
  EXPECT_EQ(layers_while_searching(), "^cm");
  EXPECT_EQ(layers(), "") << "mpirun would pass it on";
  add("sys/class/infiniband");
  EXPECT_EQ(layers_while_searching(), "^cm") << "the driver has no device";
}

TEST_F(FabricSearchTest, FindsADevice) {
  add("sys/class/infiniband/hfi1_0");
  EXPECT_EQ(layers_while_searching(), "");
}

TEST_F(FabricSearchTest, FindsADeviceOfAnotherClass) {
  add("sys/class/cxi/cxi0");
  EXPECT_EQ(layers_while_searching(), "");
}

TEST_F(FabricSearchTest, LeavesTheUsersChoice) {
  ::setenv("OMPI_MCA_pml", "ucx", 1);
  EXPECT_EQ(layers_while_searching(), "ucx");
  EXPECT_EQ(layers(), "ucx");
  ::unsetenv("OMPI_MCA_pml");
  ::setenv("OMPI_MCA_mtl", "ofi", 1);
  EXPECT_EQ(layers_while_searching(), "");
}

}  // namespace
}  // namespace tandem::comm
