#include "engine/compute.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

TEST(Compute, RefusesAnOptionForRanksOnCpusWithGpus) {
  EXPECT_NO_THROW(require_cpu(torch::kCPU, "--sync-bn"));
  try {
    require_cpu(torch::Device(torch::kCUDA, 1), "--sync-bn");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--sync-bn: is for ranks on CPUs; leave it out with GPUs, or give --device cpu");
  }
}

}  // namespace
}  // namespace tandem::app
