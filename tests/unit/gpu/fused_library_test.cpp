#include <gtest/gtest.h>

#include "tandem/model/fused_operators.hpp"

namespace tandem::model::fused {
namespace {

// libtandem_gpu.so lacks no symbol, and says what it lacks here.
TEST(FusedLibrary, OpensAndReportsWhyItHasNoKernels) {
  EXPECT_EQ(why_unavailable(), "no GPU was opened");
  open_library(0);
  EXPECT_TRUE(why_unavailable().find("no CUDA driver") == 0 ||
              why_unavailable().find("CUDA was not initialized") == 0 ||
              why_unavailable().find("cuCtxGetCurrent failed") == 0)
      << why_unavailable();
  EXPECT_FALSE(available(torch::kCUDA));
  EXPECT_TRUE(available(torch::kCPU)) << "the emulated kernels of this test";
}

}  // namespace
}  // namespace tandem::model::fused
